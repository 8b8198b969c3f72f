import Basics
import JSONBytes
package import Realtime

/// A message that a relay writes to the stream and readers receive from it.
///
///     <prefix>.<source>.<channel>.<event>     an event; its data is the payload
///     <prefix>.<source>.<channel>.relay=3Agap events of a channel may be missing
///     <prefix>._relay.<slot>.term             the relay in the payload owns the slot from here on
///
/// The subject contains names as tokens. Headers contain names that are too long, and everything that a subject does
/// not express. Messages from other NATS clients without any of these headers are events, too.
package struct RelayMessage: Sendable {
    package enum Content: Sendable {
        case event(RealtimeEvent)
        case gap(RelayGap)
        /// The relay is in the payload; nil if an older version wrote it.
        case fence(Slot, by: RelayID?)
    }

    /// The author of a message: the owner of a slot.
    package struct Author: Hashable, Sendable {
        /// The part of the work with one source, which determines the slot. Nil for the fence of a slot.
        package var unit: String?
        package var term: Int
        /// The number of the message among those of this unit and term, which may be stored in another order.
        package var sequence: Int?

        package init(unit: String?, term: Int, sequence: Int? = nil) {
            (self.unit, self.term, self.sequence) = (unit, term, sequence)
        }
    }

    package var content: Content
    /// `pusher`, `matrix` or `pydio`; `_relay` for fences.
    package var source: String
    /// `nil` if the message is not from a relay.
    package var author: Author?
    /// The time at which the relay received it, in milliseconds since 1970.
    package var time: Int64?
    /// The event's own ID, such as that of a Matrix event.
    package var id: String?
    /// Whether the previous owner may have written it, too, because both were subscribed during a handover.
    package var mayBeRepeated: Bool

    package init(
        _ content: Content, source: String, author: Author? = nil, time: Int64? = nil, id: String? = nil,
        mayBeRepeated: Bool = false
    ) {
        (self.content, self.source, self.author, self.time, self.id) = (content, source, author, time, id)
        self.mayBeRepeated = mayBeRepeated
    }

    package static func fence(_ slot: Slot, term: Int, by relay: RelayID) -> RelayMessage {
        RelayMessage(.fence(slot, by: relay), source: fenceSource, author: Author(unit: nil, term: term))
    }

    package static func fenceSubject(_ slot: Slot, prefix: String) -> String { "\(prefix).\(fenceSource).\(slot).term" }

    /// Returns the message as a fence with a sequence number, or nil if it is not a fence.
    package func fence(sequence: UInt64) -> SlotFence? {
        guard case .fence(_, let relay) = content, let author else { return nil }
        return SlotFence(term: author.term, relay: relay, sequence: sequence)
    }

    /// The slot of its term.
    package var slot: Slot? {
        if case .fence(let slot, _) = content { return slot }
        return author?.unit.map { Slot(of: $0) }
    }

    package static let fenceSource = "_relay"

    package static let headerNames = [
        Header.event, Header.channel, Header.user, Header.origin, Header.time, Header.id, Header.unit, Header.term,
        Header.sequence, Header.isRepeat,
    ]
}

/// A period in which events of a channel may have been missed.
package struct RelayGap: Hashable, Sendable {
    package static let eventName = "relay:gap"

    package var channel: String?
    /// In milliseconds since 1970.
    package var start: Int64
    package var end: Int64
    /// The reason, such as `takeover`.
    package var reason: String

    package init(channel: String?, start: Int64, end: Int64, reason: String) {
        (self.channel, self.start, self.end, self.reason) = (channel, start, end, reason)
    }

    fileprivate init?(channel: String?, _ json: JSONView) {
        guard let start = json["start"]?.int, let end = json["end"]?.int else { return nil }
        self.init(
            channel: channel, start: Int64(start), end: Int64(end), reason: json["reason"]?.string ?? "unknown")
    }

    fileprivate var json: JSONView {
        var writer = JSONWriter()
        writer.add("start", json: "\(start)")
        writer.add("end", json: "\(end)")
        writer.add("reason", reason)
        return writer.view
    }
}

private enum Header {
    static let event = "Relay-Event"
    static let channel = "Relay-Channel"
    static let user = "Relay-User"
    static let origin = "Relay-Origin"
    static let time = "Relay-Time"
    static let id = "Relay-Id"
    static let unit = "Relay-Unit"
    static let term = "Relay-Term"
    static let sequence = "Relay-Seq"
    static let isRepeat = "Relay-Repeat"
}

// MARK: - Writing

extension RelayMessage {
    /// - Parameters:
    ///   - prefix: The prefix of the stream's subjects.
    ///   - messageID: See ``MessageID``.
    package func outgoing(prefix: String, messageID: String, stream: String) -> OutgoingMessage {
        var headers: [(name: String, value: String)] = []
        func add(_ name: String, _ value: String?) {
            if let value { headers.append((name, HeaderValue.encode(value))) }
        }
        let (subject, payload): (String, [UInt8])
        switch content {
        case .event(let event):
            subject = eventSubject(prefix, channel: event.channelName, event: event.eventName, add)
            payload = event.dataBytes
            add(Header.user, event.userId)
            add(Header.origin, Self.text(event.origin))
        case .gap(let gap):
            subject = eventSubject(prefix, channel: gap.channel, event: RelayGap.eventName, add)
            payload = Array(gap.json.compactText.utf8)
            add(Header.origin, Self.ownOrigin)
        case .fence(let slot, let relay):
            subject = Self.fenceSubject(slot, prefix: prefix)
            payload = Array((relay?.description ?? "").utf8)
        }
        add(Header.time, time.map { "\($0)" })
        add(Header.id, id)
        add(Header.unit, author?.unit)
        add(Header.term, (author?.term).map { "\($0)" })
        add(Header.sequence, (author?.sequence).map { "\($0)" })
        add(Header.isRepeat, mayBeRepeated ? "1" : nil)
        return OutgoingMessage(
            subject: subject, headers: headers, payload: payload, messageID: messageID, expectedStream: stream)
    }

    /// The origin of relays' own messages.
    private static let ownOrigin = "relay"

    private static func text(_ origin: EventOrigin) -> String? {
        switch origin {
        case .live: nil
        case .cache: "cache"
        case .repeatedCache: "repeat"
        }
    }

    private func eventSubject(
        _ prefix: String, channel: String?, event: String, _ add: (String, String?) -> Void
    ) -> String {
        let token = Self.token(of: channel, source)
        let name = SubjectToken.encode(event)
        if !Self.isWhole(token, of: channel, source) { add(Header.channel, channel) }
        if SubjectToken.isDigest(name) { add(Header.event, event) }
        return "\(prefix).\(SubjectToken.encode(source)).\(token).\(name)"
    }

    /// Returns a token for the channel without the name of its source, which is the prefix of all its channels except
    /// for Pusher's.
    package static func token(of channel: String?, _ source: String) -> String {
        SubjectToken.encode(
            channel.map { $0.hasPrefix(source + ":") ? $0.dropFirst(source.count + 1).description : $0 } ?? "")
    }

    /// Returns whether the channel can be decoded from its token.
    private static func isWhole(_ token: String, of channel: String?, _ source: String) -> Bool {
        guard let channel else { return token == "=" }
        return !SubjectToken.isDigest(token) && token != "=" && (source == "pusher" || channel.hasPrefix(source + ":"))
            && !(source == "pusher" && channel.hasPrefix(source + ":"))
    }

    private static func channel(of token: String, _ source: String) -> String? {
        guard token != "=", let name = SubjectToken.decode(token) else { return nil }
        return source == "pusher" ? name : source + ":" + name
    }
}

// MARK: - Reading

extension RelayMessage {
    /// The part of a message that cannot be read.
    package enum Malformed: Error, Hashable, Sendable {
        /// The subject, which is not `<prefix>.<source>.<channel>.<event>`.
        case subject
        /// The header with this name.
        case header(String)
        /// The payload, which is not UTF-8 or not a gap.
        case payload

        package var reason: String {
            switch self {
            case .subject: "its subject has another form"
            case .header(let name): "its header \(name) is malformed"
            case .payload: "its payload is not UTF-8, or not what the subject says"
            }
        }
    }

    /// - Parameter header: Returns the received value of a header.
    package init(
        subject: String, prefix: String, payload: [UInt8], header: (String) -> String?
    ) throws(Malformed) {
        func text(_ name: String) throws(Malformed) -> String? {
            guard let value = header(name) else { return nil }
            guard let text = HeaderValue.decode(value) else { throw .header(name) }
            return text
        }
        func number<Number: FixedWidthInteger>(_ name: String) throws(Malformed) -> Number? {
            guard let value = header(name) else { return nil }
            guard let number = Number(value), number >= 0 else { throw .header(name) }
            return number
        }
        guard subject.hasPrefix(prefix + ".") else { throw .subject }
        let tokens = subject.dropFirst(prefix.count + 1).split(separator: ".", omittingEmptySubsequences: false)
        guard tokens.count == 3, let source = SubjectToken.decode(String(tokens[0])) else { throw .subject }
        let unit = try text(Header.unit)
        let term: Int? = try number(Header.term)
        if unit != nil, term == nil { throw .header(Header.term) }
        if let term, !SlotRecord.terms.contains(term) { throw .header(Header.term) }
        author = try term.map { term throws(Malformed) in
            Author(unit: unit, term: term, sequence: try number(Header.sequence))
        }
        time = try number(Header.time)
        id = try text(Header.id)
        mayBeRepeated = header(Header.isRepeat) == "1"
        self.source = source
        guard source != Self.fenceSource else {
            guard let slot = Int(tokens[1]).flatMap({ Slot($0) }), tokens[2] == "term", term != nil else {
                throw .subject
            }
            content = .fence(slot, by: RelayID(String(decoding: payload, as: UTF8.self)))
            return
        }
        let channel = try text(Header.channel) ?? Self.channel(of: String(tokens[1]), source)
        guard let name = try text(Header.event) ?? SubjectToken.decode(String(tokens[2])) else { throw .subject }
        let origin = header(Header.origin)
        if name == RelayGap.eventName, origin == Self.ownOrigin {
            guard let gap = JSONView(payload).flatMap({ RelayGap(channel: channel, $0) }) else { throw .payload }
            content = .gap(gap)
            return
        }
        guard String(validating: payload, as: UTF8.self) != nil else { throw .payload }
        let event = RealtimeEvent(name: name, channel: channel, data: nil, userId: try text(Header.user))
        content = .event((payload.isEmpty ? event : event.withData(payload)).withOrigin(Self.origin(origin)))
    }

    private static func origin(_ text: String?) -> EventOrigin {
        switch text {
        case "cache": .cache
        case "repeat": .repeatedCache
        default: .live
        }
    }
}
