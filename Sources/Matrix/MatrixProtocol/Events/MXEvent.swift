public import Foundation
public import JSONBytes

/// One event of a room, or of the account (client-server specification, "Events").
///
/// It is a view of the bytes that were received: ``content`` is parsed when asked for. What a peer sent in another form
/// than the specification's reads as nil or empty, never traps.
public struct MXEvent: Sendable {
    /// How far an event of our own has come (client-server specification, "Local echo").
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

    /// Where a part stands, counted from the event's first byte. A room may hold many thousands of events: four bytes
    /// instead of eight are worth it.
    struct Place: Sendable {
        private let start: UInt32
        private let end: UInt32

        /// Nowhere: an event's first byte is its bracket.
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

    /// What an event may have that most have not; without the hint it surely has none. Sync answers are searched for these
    /// again and again.
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

    /// What few events have.
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

    /// Immutable, so that copies of an event share it.
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
    public var type: String { clear?["type"]?.string ?? wireType }

    /// The type as the server knows it: `m.room.encrypted` for every encrypted event.
    public var wireType: String { text(storage.layout.type) ?? "" }

    /// Known types as cases.
    public var eventType: MXEventType { MXEventType(identifier: type) }

    /// Starts with `$`, or with ``localEventIdPrefix`` until the server has given one. Empty for events of an account.
    public var eventId: String { text(storage.layout.eventId) ?? "" }

    /// Who sent it. Empty for events without a sender.
    public var sender: String { text(storage.layout.sender) ?? "" }

    /// The room; nil for events of an account.
    public var roomId: String? { storage.roomId ?? text(storage.layout.roomId) }

    /// Present in state events, perhaps empty.
    public var stateKey: String? { text(storage.layout.stateKey) }

    /// Milliseconds since 1970, as the sender's server claims; it may lie.
    public var originServerTs: UInt64 { storage.layout.originServerTs }

    /// The same as ``originServerTs``.
    public var date: Date { Date(timeIntervalSince1970: Double(originServerTs) / 1000) }

    /// What the event says, parsed anew at each call. Empty if it is not an object of valid JSON. Of a decrypted event
    /// what was encrypted.
    public var content: [String: Any] { contentJSON.foundation as? [String: Any] ?? [:] }

    /// The same without parsing it.
    public var contentJSON: JSONView { extra?.edited ?? originalContent }

    /// What the server knows of the content.
    public var wireContent: JSONView { part(storage.layout.content) ?? JSONView(bytes: [], range: 0..<0) }

    /// What the server sent with the event that is about it, by the kind of relation.
    var bundledRelations: JSONView? {
        storage.layout.hints.contains(.bundledRelations) ? unsigned?["m.relations"] : nil
    }

    /// Whether it may say something about another event.
    var mayRelate: Bool { storage.layout.hints.contains(.relation) || clear != nil }

    /// What the server adds for this client alone.
    public var unsigned: JSONView? { part(storage.layout.unsigned) }

    /// Whether it belongs to a room's state.
    public var isState: Bool { !storage.layout.stateKey.isMissing }

    private func part(_ place: Place) -> JSONView? {
        guard !place.isMissing else { return nil }
        let (start, range) = (storage.json.range.lowerBound, place.range)
        return JSONView(bytes: storage.json.bytes, range: range.lowerBound + start..<range.upperBound + start)
    }

    private func text(_ place: Place) -> String? { part(place)?.string }

    // MARK: Copies

    /// The same event in a room.
    package func inRoom(_ roomId: String) -> MXEvent {
        MXEvent(Storage(storage.json, storage.layout, roomId: roomId, extra: storage.extra))
    }

    /// The same event with bytes of its own. To be kept for long when what it came with is not.
    package var detached: MXEvent {
        MXEvent(Storage(storage.json.detached, storage.layout, roomId: storage.roomId, extra: storage.extra))
    }

    /// The same event, ``detached`` if it would keep much more alive than itself.
    package var compact: MXEvent { storage.json.bytes.count > 2 * storage.json.range.count ? detached : self }

    // MARK: Events of our own

    /// What ids of events start with that the server has not confirmed.
    public static let localEventIdPrefix = "kMXEventLocalId_"

    /// How far it has come on its way to the server.
    public var sentState: SentState { extra?.sentState ?? .sent }

    /// Why it could not be sent, in words; nil unless ``sentState`` is `failed`.
    public var sentFailure: String? { extra?.failure }

    /// Whether it stands for an event that is not confirmed yet.
    public var isLocalEvent: Bool { eventId.hasPrefix(MXEvent.localEventIdPrefix) }

    /// The id under which this client sent it; only this client is told.
    public var transactionId: String? {
        storage.layout.hints.contains(.transactionId) ? unsigned?["transaction_id"]?.string : nil
    }

    package func withSentState(_ state: SentState, failure: String? = nil) -> MXEvent {
        with { ($0.sentState, $0.failure) = (state, failure) }
    }

    // MARK: Encryption

    /// Whether its content is encrypted, and was not decrypted.
    public var isEncrypted: Bool { wireType == Self.encryptedType && clear == nil }

    /// Whether it was encrypted on its way, and could be read.
    public var isDecrypted: Bool { clear != nil }

    /// Why it cannot be read; nil of one that could be, or that nobody has tried to read.
    public var decryptionError: MXDecryptionError? {
        if case .failed(let error) = extra?.decryption { error } else { nil }
    }

    /// Where encryption enters: the same event with what was inside.
    ///
    /// - Parameter decrypted: An object with `type` and `content`.
    package func withDecrypted(_ decrypted: JSONView) -> MXEvent { with { $0.decryption = .clear(decrypted) } }

    /// The same event, which cannot be read.
    package func withDecryptionError(_ error: MXDecryptionError) -> MXEvent { with { $0.decryption = .failed(error) } }

    /// What a store keeps beside the event: what was inside, or why that is not known.
    package var decryptionRecord: JSONView? {
        switch extra?.decryption {
        case nil: nil
        case .clear(let json): json
        case .failed(let error): error.record
        }
    }

    /// The same event with what a store has kept beside it.
    package func withDecryptionRecord(_ record: JSONView) -> MXEvent {
        if let error = MXDecryptionError(record: record) { return withDecryptionError(error) }
        return record["type"]?.string == nil ? self : withDecrypted(record)
    }

    /// The event as it would be if nobody had encrypted it. Of one that was not, its own bytes.
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

    /// Whether ``content`` is that of a later edit.
    public var isEdited: Bool { extra?.edited != nil }

    /// What was said before any edit.
    package var originalContent: JSONView { clear?["content"] ?? wireContent }

    /// The same event with the content of an edit.
    func withEditedContent(_ content: JSONView) -> MXEvent {
        with { $0.edited = content }
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
    /// Equal JSON in the same room, sent as far, and with equal content (decrypted, or edited).
    public static func == (lhs: MXEvent, rhs: MXEvent) -> Bool {
        lhs.storage === rhs.storage
            || lhs.json == rhs.json && lhs.roomId == rhs.roomId && lhs.sentState == rhs.sentState
                && lhs.contentJSON == rhs.contentJSON
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
    /// Those of `hints` whose keys may be in the value: they are in its bytes, or may be there escaped.
    fileprivate func hints(_ hints: [(StaticString, MXEvent.Hints)], in value: Range<Int>) -> MXEvent.Hints {
        let hasEscapedLetters = contains("\\u", in: value)
        return hints.reduce(into: []) { found, hint in
            if hasEscapedLetters || contains(hint.0, in: value) { found.formUnion(hint.1) }
        }
    }
}

extension MXEvent {
    /// The event that this redaction redacts: named beside its content, or since room version 11 in it.
    public var redacts: String? { redacts(in: nil) }

    /// - Parameter version: Of the room. Before version 11 the content is only what somebody claims: no server has checked
    ///   it. Nil: it is not known.
    package func redacts(in version: RoomVersion?) -> String? {
        guard type == "m.room.redaction" else { return nil }
        let beside = text(storage.layout.redacts)
        guard let version else { return beside ?? contentJSON["redacts"]?.string }
        return version.hasNewRedactions ? contentJSON["redacts"]?.string ?? beside : beside
    }

    /// The redaction of this event; nil if it was not redacted.
    public var redactedBecause: JSONView? {
        storage.layout.hints.contains(.redaction) ? unsigned?["redacted_because"] : nil
    }

    /// Whether its content was taken away by a redaction.
    public var isRedacted: Bool { redactedBecause != nil }

    /// Of a state event the content that it replaced.
    public var prevContent: JSONView? { unsigned?["prev_content"] ?? storage.json["prev_content"] }
}

extension MXEvent {
    /// Of a state event the one that it replaced, as far as the server tells; nil if it was the first of its kind.
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
