public import Foundation

/// One event of a room, or of the account (client-server specification, "Events").
///
/// It is a view of the bytes that were received: ``content`` is parsed when asked for. What a peer sent in another form
/// than the specification's reads as nil or empty, never traps.
public struct MXEvent: Sendable {
    /// How far an event of our own has come (reference: local echo).
    @nonexhaustive
    public enum SentState: String, Sendable, Hashable, Codable {
        /// The server has it: the state of every event that came from there.
        case sent
        case preparing
        case encrypting
        case uploading
        case sending
        case failed
    }

    /// Where parts stand, counted from the event's first byte.
    struct Layout: Sendable {
        var type = 0..<0
        var eventId = 0..<0
        var sender = 0..<0
        var stateKey: Range<Int>?
        var roomId: Range<Int>?
        var content = 0..<0
        var unsigned: Range<Int>?
        var redacts: Range<Int>?
        var originServerTs: UInt64 = 0
    }

    /// Immutable, so that copies of an event share it.
    private final class Storage: Sendable {
        let json: JSONView
        let layout: Layout
        let roomId: String?
        let sentState: SentState
        let failure: String?
        let decrypted: JSONView?

        init(
            _ json: JSONView, _ layout: Layout, roomId: String?, sentState: SentState = .sent,
            failure: String? = nil, decrypted: JSONView? = nil
        ) {
            (self.json, self.layout, self.roomId) = (json, layout, roomId)
            (self.sentState, self.failure, self.decrypted) = (sentState, failure, decrypted)
        }
    }

    private let storage: Storage

    init(json: JSONView, layout: Layout, roomId: String?) {
        storage = Storage(json, layout, roomId: roomId)
    }

    private init(_ storage: Storage) {
        self.storage = storage
    }

    /// - Parameter roomId: The room that it came for; events of a sync do not name theirs.
    /// - Returns: Nil if `json` is not an object with a type.
    public init?(json: JSONView, roomId: String? = nil) {
        let event = json.bytes.withUnsafeBufferPointer { buffer -> MXEvent? in
            guard var cursor = JSONCursor(buffer, at: json.range.lowerBound) else { return nil }
            return (try? MXEvent.read(&cursor, of: json.bytes, roomId: roomId)) ?? nil
        }
        guard let event else { return nil }
        self = event
    }

    /// The same from the event's JSON text.
    public init?(data: Data, roomId: String? = nil) {
        guard let json = JSONView(Array(data)) else { return nil }
        self.init(json: json, roomId: roomId)
    }

    /// An event that is made here.
    ///
    /// - Returns: Nil if `content` holds what JSON cannot.
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

    // MARK: What every event has

    /// The whole event as it was received.
    public var json: JSONView { storage.json }

    /// The event's JSON text.
    public var data: Data { storage.json.data }

    /// The type, such as `m.room.message`; of a decrypted event the one that was encrypted.
    public var type: String { storage.decrypted?["type"]?.string ?? wireType }

    /// The type as the server knows it: `m.room.encrypted` for every encrypted event.
    public var wireType: String { text(storage.layout.type) ?? "" }

    /// Known types as cases.
    public var eventType: MXEventType { MXEventType(identifier: type) }

    /// Starts with `$`, or with ``localEventIdPrefix`` until the server has given one. Empty for events of an account.
    public var eventId: String { text(storage.layout.eventId) ?? "" }

    /// Who sent it. Empty for events without a sender.
    public var sender: String { text(storage.layout.sender) ?? "" }

    /// The room; nil for events of an account.
    public var roomId: String? { storage.roomId ?? storage.layout.roomId.flatMap { text($0) } }

    /// Present in state events, perhaps empty.
    public var stateKey: String? { storage.layout.stateKey.flatMap { text($0) } }

    /// Milliseconds since 1970, as the sender's server claims; it may lie.
    public var originServerTs: UInt64 { storage.layout.originServerTs }

    /// The same as ``originServerTs``.
    public var date: Date { Date(timeIntervalSince1970: Double(originServerTs) / 1000) }

    /// What the event says, parsed anew at each call. Empty if it is not an object of valid JSON. Of a decrypted event
    /// what was encrypted.
    public var content: [String: Any] { contentJSON.foundation as? [String: Any] ?? [:] }

    /// The same without parsing it.
    public var contentJSON: JSONView { storage.decrypted?["content"] ?? wireContent }

    /// What the server knows of the content.
    public var wireContent: JSONView { part(storage.layout.content) }

    /// What the server adds for this client alone.
    public var unsigned: JSONView? { storage.layout.unsigned.map { part($0) } }

    /// Whether it belongs to a room's state.
    public var isState: Bool { storage.layout.stateKey != nil }

    private func part(_ range: Range<Int>) -> JSONView {
        let start = storage.json.range.lowerBound
        return JSONView(bytes: storage.json.bytes, range: range.lowerBound + start..<range.upperBound + start)
    }

    private func text(_ range: Range<Int>) -> String? { part(range).string }

    // MARK: Copies

    /// The same event in a room.
    package func inRoom(_ roomId: String) -> MXEvent {
        MXEvent(
            Storage(
                storage.json, storage.layout, roomId: roomId, sentState: sentState, failure: storage.failure,
                decrypted: storage.decrypted))
    }

    /// The same event with bytes of its own. To be kept for long when what it came with is not.
    package var detached: MXEvent {
        MXEvent(
            Storage(
                storage.json.detached, storage.layout, roomId: storage.roomId, sentState: sentState,
                failure: storage.failure, decrypted: storage.decrypted?.detached))
    }

    // MARK: Events of our own

    /// What ids of events start with that the server has not confirmed.
    public static let localEventIdPrefix = "kMXEventLocalId_"

    /// How far it has come on its way to the server.
    public var sentState: SentState { storage.sentState }

    /// Why it could not be sent, in words; nil unless ``sentState`` is `failed`.
    public var sentFailure: String? { storage.failure }

    /// Whether it stands for an event that is not confirmed yet.
    public var isLocalEvent: Bool { eventId.hasPrefix(MXEvent.localEventIdPrefix) }

    /// The id under which this client sent it; only this client is told.
    public var transactionId: String? { unsigned?["transaction_id"]?.string }

    package func withSentState(_ state: SentState, failure: String? = nil) -> MXEvent {
        MXEvent(
            Storage(
                storage.json, storage.layout, roomId: storage.roomId, sentState: state, failure: failure,
                decrypted: storage.decrypted))
    }

    // MARK: Encryption

    /// Whether its content is encrypted, and was not decrypted.
    public var isEncrypted: Bool { wireType == "m.room.encrypted" && storage.decrypted == nil }

    /// Where encryption enters: the same event with what was inside.
    ///
    /// - Parameter decrypted: An object with `type` and `content`.
    package func withDecrypted(_ decrypted: JSONView) -> MXEvent {
        MXEvent(Storage(storage.json, storage.layout, roomId: storage.roomId, decrypted: decrypted))
    }
}

extension MXEvent: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Type and id, never the content.
    public var description: String { "event \(type) \(eventId)" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Nothing of the content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension MXEvent: Equatable {
    /// Equal JSON in the same room, and sent as far.
    public static func == (lhs: MXEvent, rhs: MXEvent) -> Bool {
        lhs.storage === rhs.storage
            || lhs.json == rhs.json && lhs.roomId == rhs.roomId && lhs.sentState == rhs.sentState
    }
}

extension MXEvent {
    /// Reads the event that comes next. `cursor` goes past it in any case.
    ///
    /// - Returns: Nil for what is not an object with a type.
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
            let place = value.lowerBound - start..<value.upperBound - start
            if cursor.isKey(key, "type") {
                layout.type = place
            } else if cursor.isKey(key, "content") {
                layout.content = place
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

extension MXEvent {
    /// The event that this redaction redacts: from its content since room version 11, else beside it.
    public var redacts: String? {
        guard type == "m.room.redaction" else { return nil }
        return contentJSON["redacts"]?.string ?? storage.layout.redacts.flatMap { text($0) }
    }

    /// The redaction of this event; nil if it was not redacted.
    public var redactedBecause: JSONView? { unsigned?["redacted_because"] }

    /// Whether its content was taken away by a redaction.
    public var isRedacted: Bool { redactedBecause != nil }

    /// Of a state event the content that it replaced.
    public var prevContent: JSONView? { unsigned?["prev_content"] ?? storage.json["prev_content"] }
}
