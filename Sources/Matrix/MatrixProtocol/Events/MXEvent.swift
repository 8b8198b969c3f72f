public import Foundation
public import JSONBytes

/// An event of a room or of the account (client-server specification, "Events").
///
/// A view of the received bytes: ``content`` is parsed on access. Values whose form does not follow the specification
/// read as `nil` or empty and never trap.
public struct MXEvent: Sendable {
    /// The send state of one of our own events (client-server specification, "Local echo").
    @nonexhaustive
    public enum SentState: String, Sendable, Hashable, Codable {
        /// The server has the event. Every event received from the server is in this state.
        case sent
        case preparing
        case encrypting
        case uploading
        case sending
        case failed
    }

    /// The position of a part, relative to the event's first byte. A room can hold many thousands of events, so four
    /// bytes instead of eight are worth it.
    struct Place: Sendable {
        private let start: UInt32
        private let end: UInt32

        /// A missing part. None starts at the event's first byte, its bracket.
        static let missing = Place(0..<0)

        init(_ range: Range<Int>) {
            (start, end) = (UInt32(truncatingIfNeeded: range.lowerBound), UInt32(truncatingIfNeeded: range.upperBound))
        }

        var isMissing: Bool { start == 0 }
        var range: Range<Int> { Int(start)..<Int(end) }
    }

    struct Layout: Sendable {
        var type = Place.missing
        var eventId = Place.missing
        var sender = Place.missing
        var stateKey = Place.missing
        var roomId = Place.missing
        var content = Place.missing
        var unsigned = Place.missing
        var redacts = Place.missing
        var originServerTs: UInt64 = 0
        var hints: Hints = []
    }

    /// Fields that few events have. Without the hint, the event certainly lacks the field. Sync answers are searched
    /// for these fields again and again.
    struct Hints: OptionSet, Sendable {
        let rawValue: UInt8

        static let relation = Hints(rawValue: 1 << 0)
        static let redaction = Hints(rawValue: 1 << 1)
        static let transactionId = Hints(rawValue: 1 << 2)
        static let bundledRelations = Hints(rawValue: 1 << 3)

        static let ofContent: [(StaticString, Hints)] = [("m.relates_to", .relation)]
        static let ofUnsigned: [(StaticString, Hints)] = [
            ("redacted_because", .redaction), ("transaction_id", .transactionId), ("m.relations", .bundledRelations),
        ]
    }

    /// Data that few events have.
    private struct Extra: Sendable {
        var sentState = SentState.sent
        var failure: String?
        var decryption: Decryption?
        var edited: JSONView?
    }

    private enum Decryption: Sendable {
        /// An object with `type` and `content`.
        case clear(JSONView)
        case failed(MXDecryptionError)
    }

    /// Immutable, so that copies of an event can share it.
    private final class Storage: Sendable {
        let json: JSONView
        let layout: Layout
        let roomId: String?
        let extra: [Extra]

        init(_ json: JSONView, _ layout: Layout, roomId: String?, extra: [Extra] = []) {
            (self.json, self.layout, self.roomId, self.extra) = (json, layout, roomId, extra)
        }
    }

    private let storage: Storage

    init(json: JSONView, layout: Layout, roomId: String?) {
        storage = Storage(json, layout, roomId: roomId)
    }

    private init(_ storage: Storage) {
        self.storage = storage
    }

    private var extra: Extra? { storage.extra.first }

    private var clear: JSONView? {
        if case .clear(let json) = extra?.decryption { json } else { nil }
    }

    private func with(_ change: (inout Extra) -> Void) -> MXEvent {
        var extra = extra ?? Extra()
        change(&extra)
        return MXEvent(Storage(storage.json, storage.layout, roomId: storage.roomId, extra: [extra]))
    }

    /// - Parameter roomId: The event's room. Events in a sync do not name it.
    /// - Returns: `nil` if `json` is not an object with a type.
    public init?(json: JSONView, roomId: String? = nil) {
        let event = json.bytes.withUnsafeBufferPointer { buffer -> MXEvent? in
            guard var cursor = JSONCursor(buffer, at: json.range.lowerBound) else { return nil }
            return (try? MXEvent.read(&cursor, of: json.bytes, roomId: roomId)) ?? nil
        }
        guard let event else { return nil }
        self = event
    }

    /// Creates an event from its JSON text.
    public init?(data: Data, roomId: String? = nil) {
        guard let json = JSONView(Array(data)) else { return nil }
        self.init(json: json, roomId: roomId)
    }

    /// Creates a local event.
    ///
    /// - Returns: `nil` if `content` cannot be represented in JSON.
    package init?(
        type: String, content: [String: Any], eventId: String? = nil, sender: String? = nil, stateKey: String? = nil,
        roomId: String? = nil, originServerTs: UInt64? = nil, unsigned: [String: Any]? = nil
    ) {
        var object: [String: Any] = ["type": type, "content": content]
        object["event_id"] = eventId
        object["sender"] = sender
        object["state_key"] = stateKey
        object["origin_server_ts"] = originServerTs
        object["unsigned"] = unsigned
        guard JSONSerialization.isValidJSONObject(object),
            let data = try? JSONSerialization.data(withJSONObject: object, options: .sortedKeys)
        else { return nil }
        self.init(data: data, roomId: roomId)
    }

    // MARK: Common properties

    /// The whole event as received.
    public var json: JSONView { storage.json }

    /// The event's JSON text.
    public var data: Data { storage.json.data }

    /// The type, such as `m.room.message`. For a decrypted event, the type that was encrypted.
    public var type: String { clear?["type"]?.string ?? wireType }

    /// The type as the server knows it: `m.room.encrypted` for every encrypted event.
    public var wireType: String { text(storage.layout.type) ?? "" }

    /// The type as an enumeration case.
    public var eventType: MXEventType { MXEventType(identifier: type) }

    /// Starts with `$`, or with ``localEventIdPrefix`` until the server has assigned an id. Empty for events of an
    /// account.
    public var eventId: String { text(storage.layout.eventId) ?? "" }

    /// The sender's user id; empty for events without a sender.
    public var sender: String { text(storage.layout.sender) ?? "" }

    /// The room id; `nil` for events of an account.
    public var roomId: String? { storage.roomId ?? text(storage.layout.roomId) }

    /// The state key. Present only in state events, where it may be empty.
    public var stateKey: String? { text(storage.layout.stateKey) }

    /// The time that the sender's server claims, in milliseconds since 1970. Not trustworthy.
    public var originServerTs: UInt64 { storage.layout.originServerTs }

    /// ``originServerTs`` as a date.
    public var date: Date { Date(timeIntervalSince1970: Double(originServerTs) / 1000) }

    /// The content, parsed on each access; empty if it is not a valid JSON object. For a decrypted event, the decrypted
    /// content.
    public var content: [String: Any] { contentJSON.foundation as? [String: Any] ?? [:] }

    /// The content, without parsing it.
    public var contentJSON: JSONView { extra?.edited ?? originalContent }

    /// The content as the server knows it.
    public var wireContent: JSONView { part(storage.layout.content) ?? JSONView(bytes: [], range: 0..<0) }

    /// The related events that the server sent along, by relation type.
    var bundledRelations: JSONView? {
        storage.layout.hints.contains(.bundledRelations) ? unsigned?["m.relations"] : nil
    }

    /// Whether the event may relate to another one.
    var mayRelate: Bool { storage.layout.hints.contains(.relation) || clear != nil }

    /// Data that the server adds for this client only.
    public var unsigned: JSONView? { part(storage.layout.unsigned) }

    /// Whether this is a state event.
    public var isState: Bool { !storage.layout.stateKey.isMissing }

    private func part(_ place: Place) -> JSONView? {
        guard !place.isMissing else { return nil }
        let (start, range) = (storage.json.range.lowerBound, place.range)
        return JSONView(bytes: storage.json.bytes, range: range.lowerBound + start..<range.upperBound + start)
    }

    private func text(_ place: Place) -> String? { part(place)?.string }

    // MARK: Copies

    /// Returns this event with a room id.
    package func inRoom(_ roomId: String) -> MXEvent {
        MXEvent(Storage(storage.json, storage.layout, roomId: roomId, extra: storage.extra))
    }

    /// A copy with its own bytes. Use it to keep the event longer than the answer it came in.
    package var detached: MXEvent {
        MXEvent(Storage(storage.json.detached, storage.layout, roomId: storage.roomId, extra: storage.extra))
    }

    /// The event, ``detached`` if it would otherwise keep a much larger buffer alive.
    package var compact: MXEvent { storage.json.bytes.count > 2 * storage.json.range.count ? detached : self }

    // MARK: Local events

    /// The prefix of event ids that the server has not confirmed.
    public static let localEventIdPrefix = "kMXEventLocalId_"

    /// The event's progress on its way to the server.
    public var sentState: SentState { extra?.sentState ?? .sent }

    /// The reason why sending failed, in words; `nil` unless ``sentState`` is `failed`.
    public var sentFailure: String? { extra?.failure }

    /// Whether this is the local echo of an event that the server has not confirmed yet.
    public var isLocalEvent: Bool { eventId.hasPrefix(MXEvent.localEventIdPrefix) }

    /// The transaction id with which this client sent the event. The server returns it to this client only.
    public var transactionId: String? {
        storage.layout.hints.contains(.transactionId) ? unsigned?["transaction_id"]?.string : nil
    }

    package func withSentState(_ state: SentState, failure: String? = nil) -> MXEvent {
        with { ($0.sentState, $0.failure) = (state, failure) }
    }

    // MARK: Encryption

    /// Whether the content is encrypted and has not been decrypted.
    public var isEncrypted: Bool { wireType == Self.encryptedType && clear == nil }

    /// Whether the event was encrypted in transit and has been decrypted.
    public var isDecrypted: Bool { clear != nil }

    /// The reason why the event cannot be read; `nil` if it was decrypted, or decryption was not attempted.
    public var decryptionError: MXDecryptionError? {
        if case .failed(let error) = extra?.decryption { error } else { nil }
    }

    /// Returns this event with its decrypted content. This is where encryption plugs in.
    ///
    /// - Parameter decrypted: An object with `type` and `content`.
    package func withDecrypted(_ decrypted: JSONView) -> MXEvent { with { $0.decryption = .clear(decrypted) } }

    /// Returns this event, marked as unreadable.
    package func withDecryptionError(_ error: MXDecryptionError) -> MXEvent { with { $0.decryption = .failed(error) } }

    /// The data that a store keeps next to the event: the decrypted content, or the reason for its absence.
    package var decryptionRecord: JSONView? {
        switch extra?.decryption {
        case nil: nil
        case .clear(let json): json
        case .failed(let error): error.record
        }
    }

    /// Returns this event with the data that a store kept next to it.
    package func withDecryptionRecord(_ record: JSONView) -> MXEvent {
        if let error = MXDecryptionError(record: record) { return withDecryptionError(error) }
        return record["type"]?.string == nil ? self : withDecrypted(record)
    }

    /// The event as it would look without encryption. For an unencrypted event, its own bytes.
    package var clearJSON: JSONView {
        guard let clear, let type = clear["type"], let content = clear["content"] else { return json }
        var object = JSONWriter()
        for (key, value) in json.members where key != "type" && key != "content" { object.add(key, value) }
        object.add("type", type)
        object.add("content", content)
        return object.view
    }

    package static let encryptedType = "m.room.encrypted"

    // MARK: Edits

    /// Whether ``content`` comes from a later edit.
    public var isEdited: Bool { extra?.edited != nil }

    /// The content before any edit.
    package var originalContent: JSONView { clear?["content"] ?? wireContent }

    /// Returns this event with the content of an edit.
    func withEditedContent(_ content: JSONView) -> MXEvent {
        with { $0.edited = content }
    }
}

extension MXEvent: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type and id, never the content.
    public var description: String { "event \(type) \(eventId)" }

    /// Same as ``description``.
    public var debugDescription: String { description }

    /// A mirror without the content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension MXEvent: Equatable {
    /// Returns whether both have equal JSON, room, send state and (decrypted or edited) content.
    public static func == (lhs: MXEvent, rhs: MXEvent) -> Bool {
        lhs.storage === rhs.storage
            || lhs.json == rhs.json && lhs.roomId == rhs.roomId && lhs.sentState == rhs.sentState
                && lhs.contentJSON == rhs.contentJSON
    }
}

extension MXEvent {
    /// Reads the next event and advances `cursor` past it in any case.
    ///
    /// - Returns: `nil` if it is not an object with a type.
    static func read(
        _ cursor: inout JSONCursor, of bytes: [UInt8], roomId: String?
    ) throws(JSONCursor.Malformed) -> MXEvent? {
        guard cursor.peek() == UInt8(ascii: "{") else {
            _ = try cursor.skipValue()
            return nil
        }
        let start = cursor.index
        var layout = Layout()
        try cursor.object { cursor, key throws(JSONCursor.Malformed) in
            let value = try cursor.skipValue()
            let place = Place(value.lowerBound - start..<value.upperBound - start)
            if cursor.isKey(key, "type") {
                layout.type = place
            } else if cursor.isKey(key, "content") {
                layout.content = place
                layout.hints.formUnion(cursor.hints(Hints.ofContent, in: value))
            } else if cursor.isKey(key, "event_id") {
                layout.eventId = place
            } else if cursor.isKey(key, "sender") {
                layout.sender = place
            } else if cursor.isKey(key, "origin_server_ts") {
                layout.originServerTs = cursor.unsignedNumber(value)
            } else if cursor.isKey(key, "state_key") {
                layout.stateKey = place
            } else if cursor.isKey(key, "unsigned") {
                layout.unsigned = place
                layout.hints.formUnion(cursor.hints(Hints.ofUnsigned, in: value))
            } else if cursor.isKey(key, "room_id") {
                layout.roomId = place
            } else if cursor.isKey(key, "redacts") {
                layout.redacts = place
            }
        }
        let event = MXEvent(
            json: JSONView(bytes: bytes, range: start..<cursor.index), layout: layout, roomId: roomId)
        return event.text(layout.type) == nil ? nil : event
    }
}

extension JSONCursor {
    /// Returns those of `hints` whose keys may occur in the value, literally or escaped.
    fileprivate func hints(_ hints: [(StaticString, MXEvent.Hints)], in value: Range<Int>) -> MXEvent.Hints {
        let hasEscapedLetters = contains("\\u", in: value)
        return hints.reduce(into: []) { found, hint in
            if hasEscapedLetters || contains(hint.0, in: value) { found.formUnion(hint.1) }
        }
    }
}

extension MXEvent {
    /// The event that this redaction redacts. It is named next to the content or, since room version 11, in it.
    public var redacts: String? { redacts(in: nil) }

    /// - Parameter version: The room's version; `nil` if unknown. Before version 11, the content is an unverified
    ///   claim: no server has checked it.
    package func redacts(in version: RoomVersion?) -> String? {
        guard type == "m.room.redaction" else { return nil }
        let beside = text(storage.layout.redacts)
        guard let version else { return beside ?? contentJSON["redacts"]?.string }
        return version.hasNewRedactions ? contentJSON["redacts"]?.string ?? beside : beside
    }

    /// The redaction of this event; `nil` if it was not redacted.
    public var redactedBecause: JSONView? {
        storage.layout.hints.contains(.redaction) ? unsigned?["redacted_because"] : nil
    }

    /// Whether a redaction removed the content.
    public var isRedacted: Bool { redactedBecause != nil }

    /// For a state event, the content that it replaced.
    public var prevContent: JSONView? { unsigned?["prev_content"] ?? storage.json["prev_content"] }
}

extension MXEvent {
    /// For a state event, the one that it replaced, as far as the server reports it; `nil` if it was the first of its
    /// kind.
    package var replacedEvent: MXEvent? {
        guard let stateKey, let prevContent, prevContent.isObject else { return nil }
        var object = JSONWriter()
        object.add("type", type)
        object.add("state_key", stateKey)
        object.add("content", prevContent)
        if let id = unsigned?["replaces_state"]?.string { object.add("event_id", id) }
        if let sender = unsigned?["prev_sender"]?.string { object.add("sender", sender) }
        return MXEvent(json: object.view, roomId: roomId)
    }
}
