import Basics

/// The kinds of stored records, comparable to tables.
package enum RecordKind: String, Sendable, CaseIterable {
    /// This device's keys. Scope and key: empty.
    case account
    /// A channel to a device. Scope: its identity key; key: the session's id.
    case olmSession
    /// A session that decrypts a room's messages. Scope: the room; key: the session's id.
    case inboundSession
    /// The session with which this device encrypts. Key: the room.
    case outboundSession
    /// A recipient of an outbound session. Scope: the session's id; key: user and device, as in `DeviceAddress`.
    case share
    /// The event of a message index. Scope: room and session; key: the index.
    case messageIndex
    /// A device. Scope: the user; key: the device.
    case device
    /// The owner of an identity key. Key: the key.
    case deviceByKey
    /// A user's cross-signing keys. Key: the user.
    case identity
    /// Whether a user's devices are up to date. Key: the user.
    case trackedUser
    /// Requests to send, even after a crash. Key: a number, in order.
    case outbox
    /// The reason for withholding a session. Scope: the room; key: the session.
    case withheld
    /// Decrypted messages from unknown devices. Scope: the user; key: a number.
    case heldMessage
    /// A room's encryption. Key: the room.
    case room
    /// Secrets such as the seeds of cross-signing keys. Key: the name; scope: empty, or `new` until they take effect.
    case secret
    /// Single values. Key: the name.
    case setting
    /// Sessions that events are waiting for. Key: room and session, as in `SessionAddress`.
    case missingSession
    /// Requests from other devices. Key: user, device and the request's id.
    case question
    /// Secrets requested from other devices. Key: the name.
    case secretRequest
    /// The number of times something was done within an hour. Scope: what; key: for whom.
    case hourlyCount
    /// The server's backup. Scope and key: empty.
    case backup
    /// Histories to share with invited users. Key: room and user.
    case historyShare
    /// Histories offered by other users. Key: user and room.
    case historyOffer
    /// The user who has invited this one. Key: the room.
    case invitation
}

/// The address of a record.
package struct RecordKey: Hashable, Sendable {
    package let kind: RecordKind
    package let scope: String
    package let key: String

    package init(_ kind: RecordKind, scope: String = "", key: String = "") {
        (self.kind, self.scope, self.key) = (kind, scope, key)
    }

    // `==` of String treats some different keys as equal.
    package static func == (lhs: RecordKey, rhs: RecordKey) -> Bool {
        lhs.kind == rhs.kind && lhs.scope.isExactly(rhs.scope) && lhs.key.isExactly(rhs.key)
    }
}

/// A store of records, as far as the machine needs it: the machine reads, and returns its changes.
package protocol RecordStore: Sendable {
    /// - Throws: `store`.
    func record(_ key: RecordKey) throws(EncryptionError) -> SecretBytes?

    /// Returns all records of a kind and a scope, ordered by key.
    ///
    /// - Throws: `store`.
    func records(_ kind: RecordKind, scope: String) throws(EncryptionError) -> [(key: String, state: SecretBytes)]
}

/// A stored value.
package protocol Record: Sendable {
    static var kind: RecordKind { get }
    var state: SecretBytes { get }

    /// - Throws: `state` if the bytes are not of this kind.
    init(state: SecretBytes) throws(EncryptionError)
}

/// The stored records and the changes of a turn, to commit together or discard.
package struct Records: Sendable {
    private let store: any RecordStore
    /// The changes; `nil` removes a record.
    package private(set) var changes: [RecordKey: SecretBytes?] = [:]
    /// The changes by kind and scope, so that a turn with many changes looks at few of them each time.
    private var changed: [RecordKey: Set<RecordKey>] = [:]
    /// Whether a sending ratchet has advanced. The changes must then be safe on disk before anything is sent, so that a
    /// power failure cannot make it repeat a step.
    package var movesSendingRatchet = false
    /// The number of unreadable records found. They are left in place.
    package private(set) var damaged = 0

    package init(_ store: any RecordStore) { self.store = store }

    /// Returns a record; `nil` if it is missing or unreadable.
    package mutating func value<Value: Record>(
        _: Value.Type = Value.self, scope: String = "", key: String = ""
    ) throws(EncryptionError) -> Value? {
        let place = RecordKey(Value.kind, scope: scope, key: key)
        let changed = changes[place]
        let state = if let changed { changed } else { try store.record(place) }
        guard let state else { return nil }
        return read(state)
    }

    /// Returns the readable records, ordered by key.
    package mutating func values<Value: Record>(
        _: Value.Type = Value.self, scope: String = ""
    ) throws(EncryptionError) -> [(key: String, value: Value)] {
        var states = try store.records(Value.kind, scope: scope)
        if let changed = changed[RecordKey(Value.kind, scope: scope)] {
            states.removeAll { changed.contains(RecordKey(Value.kind, scope: scope, key: $0.key)) }
            states += changed.compactMap { place in changes[place]?.map { (place.key, $0) } }
            states.sort { $0.key.precedesExactly($1.key) }
        }
        var values: [(key: String, value: Value)] = []
        for (key, state) in states { if let value: Value = read(state) { values.append((key, value)) } }
        return values
    }

    private mutating func read<Value: Record>(_ state: SecretBytes) -> Value? {
        do throws(EncryptionError) {
            return try Value(state: state)
        } catch {
            damaged += 1
            return nil
        }
    }

    package mutating func set<Value: Record>(_ value: Value, scope: String = "", key: String = "") {
        change(RecordKey(Value.kind, scope: scope, key: key), to: value.state)
    }

    package mutating func remove(_ kind: RecordKind, scope: String = "", key: String = "") {
        change(RecordKey(kind, scope: scope, key: key), to: nil)
    }

    /// Removes all records of a kind and a scope.
    package mutating func removeAll(_ kind: RecordKind, scope: String) throws(EncryptionError) {
        for (key, _) in try store.records(kind, scope: scope) { remove(kind, scope: scope, key: key) }
        for place in changed[RecordKey(kind, scope: scope)] ?? [] { change(place, to: nil) }
    }

    private mutating func change(_ place: RecordKey, to state: SecretBytes?) {
        changes[place] = .some(state)
        changed[RecordKey(place.kind, scope: place.scope), default: []].insert(place)
    }
}

/// Records in memory.
package struct RecordTable: Sendable {
    /// The records by kind and scope, then by complete key.
    private var scopes: [RecordKey: [RecordKey: SecretBytes]] = [:]

    package init() {}

    package subscript(_ place: RecordKey) -> SecretBytes? {
        get { scopes[RecordKey(place.kind, scope: place.scope)]?[place] }
        set { scopes[RecordKey(place.kind, scope: place.scope), default: [:]][place] = newValue }
    }

    /// Returns records, ordered by key.
    package func records(_ kind: RecordKind, scope: String) -> [(key: String, state: SecretBytes)] {
        (scopes[RecordKey(kind, scope: scope)] ?? [:]).map { ($0.key.key, $0.value) }
            .sorted { $0.0.precedesExactly($1.0) }
    }

    /// Applies changes; `nil` removes a record.
    package mutating func apply(_ changes: [RecordKey: SecretBytes?]) {
        for (place, state) in changes { self[place] = state }
    }
}

/// An in-memory store of records, for tests and simulations.
package final class MemoryRecords: RecordStore {
    private let table = Lock(RecordTable())

    package init() {}

    package func record(_ key: RecordKey) -> SecretBytes? { table.withLock { $0[key] } }

    package func records(_ kind: RecordKind, scope: String) -> [(key: String, state: SecretBytes)] {
        table.withLock { $0.records(kind, scope: scope) }
    }

    package func commit(_ changes: [RecordKey: SecretBytes?]) { table.withLock { $0.apply(changes) } }

    package func removeAll() { table.withLock { $0 = RecordTable() } }
}
