import Basics
package import MatrixEncryption
public import MatrixProtocol
import Realtime

/// Keeps everything in memory, until it is closed.
public final class MXMemoryStore: MXStore {
    fileprivate struct Account {
        var rooms: MXDictionary<Room> = [:]
        var accountData: MXDictionary<MXEvent> = [:]
        var presence: [ByteKey: MXEvent] = [:]
        var outgoing: [MXOutgoingEvent] = []
        var syncToken: String?
        var keys = RecordTable()
    }

    fileprivate struct ReceiptKey: Hashable {
        let userId: ByteKey
        let type: ByteKey
        let threadId: ByteKey?
    }

    fileprivate struct Room {
        var timeline = MemoryTimeline()
        var state: [StateKey: MXEvent] = [:]
        var strippedState: [MXEvent] = []
        var summary: MXRoomSummary?
        var accountData: MXDictionary<MXEvent> = [:]
        var receipts: [ReceiptKey: MXReceipt] = [:]
    }

    private enum State {
        case closed
        /// The contents to start with.
        case copy(MXStoredSession, Account)
        case open(Account)
    }

    private let state: Lock<State>
    private let eventsPerRoom: Int
    /// Whether it is a copy of another store, which has the keys: a ratchet has only one owner.
    let isCopy: Bool

    /// Always false.
    public var isPermanent: Bool { false }

    /// - Parameter eventsPerRoom: The number of timeline events to keep per room, at least 1. Timelines that exceed it
    ///   by a quarter are trimmed by ``trimTimeline(of:)``.
    public init(eventsPerRoom: Int = 1000) {
        self.eventsPerRoom = min(max(1, eventsPerRoom), 1 << 31)
        isCopy = false
        state = Lock(.closed)
    }

    /// Creates a store that starts with the contents of another one.
    init(_ session: MXStoredSession, contents: MXStoreChanges, eventsPerRoom: Int) {
        self.eventsPerRoom = min(max(1, eventsPerRoom), 1 << 31)
        isCopy = true
        var account = Account()
        account.apply(contents)
        state = Lock(.copy(session, account))
    }

    /// Opens an empty store.
    public func open(userId: String, deviceId: String?) throws(MatrixError) -> MXStoredSession {
        try state.withLock { state throws(MatrixError) in
            switch state {
            case .open: throw .storeIsOpen(of: userId)
            case .closed:
                state = .open(Account())
                return MXStoredSession()
            case .copy(let session, let account):
                state = .open(account)
                return session
            }
        }
    }

    /// Applies all the changes.
    public func commit(_ changes: MXStoreChanges) throws(MatrixError) {
        try withAccount { $0.apply(changes) }
    }

    /// Returns the current state of a room.
    public func state(of roomId: String) throws(MatrixError) -> [MXEvent] {
        try withAccount { $0.rooms[roomId].map { Array($0.state.values) } ?? [] }
    }

    /// Returns an event of a room's current state.
    public func stateEvent(of roomId: String, type: String, key: String) throws(MatrixError)
        -> MXEvent?
    {
        try withAccount { $0.rooms[roomId]?.state[StateKey(type: type, key: key)] }
    }

    /// Returns events of the timeline, newest first.
    public func events(in roomId: String, before eventId: String?, limit: Int) throws(MatrixError) -> [MXEvent] {
        try withAccount { $0.rooms[roomId]?.timeline.events(before: eventId, limit: limit) ?? [] }
    }

    /// Returns an event of the timeline.
    public func event(_ eventId: String, in roomId: String) throws(MatrixError) -> MXEvent? {
        try withAccount { $0.rooms[roomId]?.timeline[eventId] }
    }

    /// Returns those of these events that are in the timeline.
    public func knownEvents(among eventIds: [String], in roomId: String) throws(MatrixError) -> [String] {
        try withAccount { account in
            eventIds.filter { account.rooms[roomId]?.timeline[$0] != nil }
        }
    }

    /// Returns the timeline events that relate to this one, oldest first.
    public func relations(to eventId: String, in roomId: String) throws(MatrixError) -> [MXEvent] {
        try relations(toEach: [eventId], in: roomId)[eventId] ?? []
    }

    /// Like ``relations(to:in:)``, but for each of several events that has any.
    public func relations(toEach eventIds: [String], in roomId: String) throws(MatrixError) -> MXDictionary<[MXEvent]> {
        try withAccount { $0.rooms[roomId]?.timeline.relations(toEach: Set(texts: eventIds)) ?? [:] }
    }

    /// Returns the users' read receipts, in no particular order.
    public func receipts(in roomId: String) throws(MatrixError) -> [MXReceipt] {
        try withAccount { $0.rooms[roomId].map { Array($0.receipts.values) } ?? [] }
    }

    /// Trims a room's oldest events if there are many.
    public func trimTimeline(of roomId: String) throws(MatrixError) -> String? {
        try withAccount { account in
            guard let token = account.rooms[roomId]?.timeline.trim(to: eventsPerRoom) else { return nil }
            account.rooms[roomId]?.summary?.paginationToken = token
            return token
        }
    }

    /// Discards everything.
    public func close() {
        state.withLock { $0 = .closed }
    }

    /// Does the same as ``close()``.
    public func deleteAllData() throws(MatrixError) {
        close()
    }

    fileprivate func withAccount<Result: Sendable>(_ body: (inout Account) -> Result) throws(MatrixError) -> Result {
        try state.withLock { state throws(MatrixError) in
            guard case .open(var account) = state else { throw .storeIsClosed }
            state = .closed  // so the changed account has one owner
            defer { state = .open(account) }
            return body(&account)
        }
    }
}

extension MXMemoryStore: RecordStore {
    package func record(_ key: RecordKey) throws(EncryptionError) -> SecretBytes? { try keys { $0[key] } }

    package func records(
        _ kind: RecordKind, scope: String
    ) throws(EncryptionError) -> [(key: String, state: SecretBytes)] {
        try keys { $0.records(kind, scope: scope) }
    }

    private func keys<Result: Sendable>(
        _ body: (RecordTable) -> Result
    ) throws(EncryptionError) -> Result {
        do {
            return try withAccount { body($0.keys) }
        } catch {
            throw .store
        }
    }
}

extension MXMemoryStore.Account {
    fileprivate mutating func apply(_ changes: MXStoreChanges) {
        if changes.replacesEverything {
            let keys = keys
            self = Self()
            self.keys = keys
        }
        for (roomId, room) in changes.rooms {
            if room.isRemoved {
                rooms[roomId] = nil
                outgoing.removeAll { $0.roomId == roomId }
            }
            rooms[roomId, default: MXMemoryStore.Room()].apply(room, keepsAnswer: changes.keepsAnswer)
        }
        for event in changes.accountData { accountData[event.type] = event.detached }
        for event in changes.presence { presence[ByteKey(event.sender)] = event.detached }
        for event in changes.outgoing {
            if let index = outgoing.firstIndex(where: { $0.transactionId == event.transactionId }) {
                outgoing[index] = event
            } else {
                outgoing.append(event)
            }
        }
        outgoing.removeAll { changes.sentOutgoing.contains($0.transactionId) }
        keys.apply(changes.encryption.records)
        if let token = changes.syncToken { syncToken = token }
    }
}

extension MXMemoryStore.Room {
    fileprivate mutating func apply(_ changes: MXStoreChanges.Room, keepsAnswer: Bool) {
        func kept(_ event: MXEvent) -> MXEvent { keepsAnswer ? event : event.compact }
        if changes.dropsTimeline { timeline = MemoryTimeline() }
        if changes.replacesState { state = [:] }
        timeline.append(changes.timeline.map(kept), token: changes.timelineToken)
        timeline.prepend(changes.older.map(kept), token: changes.olderToken)
        timeline.replace(changes.replaced.map(kept))
        for event in changes.state {
            if let key = StateKey(event) { state[key] = kept(event) }
        }
        if let stripped = changes.strippedState { strippedState = stripped.map(\.detached) }
        if let summary = changes.summary { self.summary = summary }
        for event in changes.accountData { accountData[event.type] = event.detached }
        for receipt in changes.receipts {
            let key = MXMemoryStore.ReceiptKey(
                userId: ByteKey(receipt.userId), type: ByteKey(receipt.type),
                threadId: receipt.threadId.map { ByteKey($0) })
            receipts[key] = receipt
        }
    }
}

private struct StateKey: Hashable {
    let type: ByteKey
    let key: ByteKey

    init(type: String, key: String) { (self.type, self.key) = (ByteKey(type), ByteKey(key)) }
}

extension StateKey {
    fileprivate init?(_ event: MXEvent) {
        guard let key = event.stateKey else { return nil }
        self.init(type: event.wireType, key: key)
    }
}
