import Basics

/// What is kept: one kind a table, as it were.
package enum RecordKind: String, Sendable, CaseIterable {
    /// This device's keys. Scope and key: empty.
    case account
    /// A channel to a device. Scope: its identity key; key: the session's id.
    case olmSession
    /// What opens messages of a room. Scope: the room; key: the session's id.
    case inboundSession
    /// What this device encrypts with. Key: the room.
    case outboundSession
    /// Who has been given an outbound session. Scope: the session's id; key: user and device, as `DeviceAddress` has them.
    case share
    /// Which event a message was. Scope: room and session; key: the index.
    case messageIndex
    /// Scope: the user; key: the device.
    case device
    /// Whose an identity key is. Key: the key.
    case deviceByKey
    /// A user's cross-signing keys. Key: the user.
    case identity
    /// Whether a user's devices are known as they are now. Key: the user.
    case trackedUser
    /// Requests that are to be sent, also after a crash. Key: a number, in order.
    case outbox
    /// Why somebody was not given a session. Scope: the room; key: the session.
    case withheld
    /// Decrypted messages of devices that are not known yet. Scope: the user; key: a number.
    case heldMessage
    /// A room's encryption. Key: the room.
    case room
    /// Secrets such as the seeds of cross-signing keys. Key: the name; scope: empty, or `new` before they count.
    case secret
    /// Single values. Key: the name.
    case setting
    /// Sessions that events wait for. Key: room and session, as `SessionAddress` has them.
    case missingSession
    /// What other devices have asked for. Key: user, device and the request's id.
    case question
    /// Secrets that other devices were asked for. Key: the name.
    case secretRequest
    /// How often something was done within an hour. Scope: what; key: for whom.
    case hourlyCount
    /// What the server has said of its backup. Scope and key: empty.
    case backup
    /// Histories that are to be given to invited users. Key: room and user.
    case historyShare
    /// Histories that others have offered. Key: user and room.
    case historyOffer
    /// Who has invited this user. Key: the room.
    case invitation
}

/// Where a record stands.
package struct RecordKey: Hashable, Sendable {
    package let kind: RecordKind
    package let scope: String
    package let key: String

    package init(_ kind: RecordKind, scope: String = "", key: String = "") {
        (self.kind, self.scope, self.key) = (kind, scope, key)
    }

    // `==` of String takes texts for equal that are different keys.
    package static func == (lhs: RecordKey, rhs: RecordKey) -> Bool {
        lhs.kind == rhs.kind && lhs.scope.isExactly(rhs.scope) && lhs.key.isExactly(rhs.key)
    }
}

/// Where records are kept, as far as the machine asks: it reads, and hands over what is to be written.
package protocol RecordStore: Sendable {
    /// - Throws: `store`.
    func record(_ key: RecordKey) throws(EncryptionError) -> SecretBytes?

    /// All of a kind and a scope, in the order of their keys.
    ///
    /// - Throws: `store`.
    func records(_ kind: RecordKind, scope: String) throws(EncryptionError) -> [(key: String, state: SecretBytes)]
}

/// A value that is kept.
package protocol Record: Sendable {
    static var kind: RecordKind { get }
    var state: SecretBytes { get }

    /// - Throws: `state` for bytes that are not of this kind.
    init(state: SecretBytes) throws(EncryptionError)
}

/// The records as they are, and those that a turn changes: to be committed as one, or thrown away.
package struct Records: Sendable {
    private let store: any RecordStore
    /// Nil removes.
    package private(set) var changes: [RecordKey: SecretBytes?] = [:]
    /// Those of a kind and a scope: a step that changes much looks at little of it each time.
    private var changed: [RecordKey: Set<RecordKey>] = [:]
    /// A ratchet that sends has moved: what goes with it must be safe on the disk before anything is sent, so that no power
    /// cut makes it move again.
    package var movesSendingRatchet = false
    /// How many were found that cannot be read. They stay where they are.
    package private(set) var damaged = 0

    package init(_ store: any RecordStore) { self.store = store }

    /// Nil for one that is not there, or cannot be read.
    package mutating func value<Value: Record>(
        _: Value.Type = Value.self, scope: String = "", key: String = ""
    ) throws(EncryptionError) -> Value? {
        let place = RecordKey(Value.kind, scope: scope, key: key)
        let changed = changes[place]
        let state = if let changed { changed } else { try store.record(place) }
        guard let state else { return nil }
        return read(state)
    }

    /// Those that can be read, in the order of their keys.
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

    /// All of a kind and a scope.
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
    /// By kind and scope, then by the whole place.
    private var scopes: [RecordKey: [RecordKey: SecretBytes]] = [:]

    package init() {}

    package subscript(_ place: RecordKey) -> SecretBytes? {
        get { scopes[RecordKey(place.kind, scope: place.scope)]?[place] }
        set { scopes[RecordKey(place.kind, scope: place.scope), default: [:]][place] = newValue }
    }

    /// In the order of their keys.
    package func records(_ kind: RecordKind, scope: String) -> [(key: String, state: SecretBytes)] {
        (scopes[RecordKey(kind, scope: scope)] ?? [:]).map { ($0.key.key, $0.value) }
            .sorted { $0.0.precedesExactly($1.0) }
    }

    /// Nil removes.
    package mutating func apply(_ changes: [RecordKey: SecretBytes?]) {
        for (place, state) in changes { self[place] = state }
    }
}

/// Records in memory as a store of their own, for tests and simulations.
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
