import Basics
import MatrixEncryption
import MatrixProtocol

/// The store of an account, the model of the store's contents, and the application's rooms.
///
/// Changes take turns, and no lock is held while the store works. A turn changes a ``Draft``, which replaces the model
/// when the store has committed or refused the corresponding changes. Until then getters read the old model, and never
/// wait for the store.
///
/// The rooms and their waiters share the model's lock: a room gets an object only while the model has it, and no caller
/// starts to wait for something the model already has. This lock and the session's are never held at the same time.
final class StoredAccount: Sendable {
    /// A change of the model, to be stored and then delivered.
    struct Uncommitted: Sendable {
        let applied: SessionModel.Applied
        /// The application's rooms when the draft replaced the model: rooms that were left since then still receive the
        /// change. `nil` before.
        var rooms: [String: MXRoom]?
    }

    /// An open store, and the model of its contents.
    struct Opened: Sendable {
        /// Called in turns, or for reading.
        let store: any MXStore
        /// Changed in turns. Data that a getter loads into it meanwhile may be lost.
        var model: SessionModel
        /// The version of the model.
        var number = 0
        /// Changes in the model that the store could not take yet, oldest first: answers to syncs, and other changes.
        var uncommitted: [Uncommitted] = []
        /// The number of events added to each room since its timeline was last trimmed.
        var growth: [String: Int] = [:]
        /// `nil` if nothing is encrypted here.
        var crypto: CryptoMachine?
    }

    private struct State {
        /// `nil` before the store is open, and after the end.
        var opened: Opened?
        var hasEnded = false
        var rooms: [String: MXRoom] = [:]
        var waiters: [RoomWaiter] = []
        /// Rooms created here with encryption, which a sync may not have confirmed yet.
        var encryptedRooms: Set<String> = []
        /// Messages to this device that an earlier process stored, but may not have delivered.
        var untold: [MXToDeviceMessage] = []
        /// Ids of delivered messages to this device. The next changes remove them from the store.
        var told: [String] = []
    }

    private let state = Lock(State())
    private let owner = StoreOwner()

    // MARK: Opening and closing

    /// - Parameters:
    ///   - encryption: Whether to encrypt.
    ///   - isAllowed: Evaluated in the turn that opens the store.
    /// - Returns: The reason if the store was rebuilt, and notices about its keys.
    func open(
        _ store: any MXStore, userId: String, deviceId: String?, encryption: Encryption = .ifBegun,
        if isAllowed: () -> Bool
    ) throws(MatrixError) -> (rebuildReason: String?, notices: [CryptoNotice]) {
        try owner.run { () throws(MatrixError) in
            guard !isOpen, isAllowed() else { throw .storeIsSet }
            let stored = try store.open(userId: userId, deviceId: deviceId)
            var (model, notices) = (SessionModel(userId: userId, stored: stored, now: .now), [CryptoNotice]())
            do throws(MatrixError) {
                // Messages that were being sent when the last process ended count as not delivered.
                var changes = MXStoreChanges()
                changes.outgoing = model.failInterruptedMessages()
                var opened = Opened(store: store, model: model)
                if try Self.encrypts(encryption, store) {
                    opened.crypto = try Self.machine(userId, deviceId, model, store, &changes.encryption, &notices)
                }
                if !changes.isEmpty { try store.commit(changes) }
                let isOpen = state.withLock { state in
                    if !state.hasEnded { (state.opened, state.untold) = (opened, stored.toDevice) }
                    return !state.hasEnded
                }
                guard isOpen else { throw .sessionClosed }  // closed by the store itself
            } catch {
                store.close()
                throw error
            }
            return (stored.rebuildReason, notices)
        }
    }

    /// Closes the account permanently, in the last turn. The store keeps its data.
    ///
    /// - Parameter stop: Called first, in the same turn.
    func close(_ stop: () -> Void) { end(stop) { $0.close() } }

    /// Closes the account and deletes its store.
    func erase() throws(MatrixError) {
        var outcome = Result<Void, MatrixError>.success(())
        end({}) { store in
            outcome = Result { () throws(MatrixError) in try store.deleteAllData() }
            store.close()
        }
        try outcome.get()
    }

    private func end(_ stop: () -> Void, _ last: (any MXStore) -> Void) {
        owner.runLast {
            stop()
            let old = state.withLock { state -> State in
                let old = state
                state.opened = nil
                state.hasEnded = true
                state.rooms = [:]
                state.waiters = []
                return old
            }
            if !old.told.isEmpty { try? old.opened?.store.commit(MXStoreChanges(told: old.told)) }
            for waiter in old.waiters { waiter.continuation.resume(throwing: MatrixError.sessionClosed) }
            for room in old.rooms.values { room.close() }
            for waiting in old.opened?.uncommitted ?? [] { for room in (waiting.rooms ?? [:]).values { room.close() } }
            if let store = old.opened?.store { last(store) }
        }
    }

    // MARK: Reading

    var isOpen: Bool { state.withLock { $0.opened != nil } }

    func summary(_ roomId: String) -> MXRoomSummary? { state.withLock { $0.opened?.model.rooms[roomId]?.summary } }

    var summaries: [MXRoomSummary] { model { $0.rooms.values.map(\.summary) } ?? [] }

    func model<Value: Sendable>(_ body: (SessionModel) -> Value) -> Value? { opened { body($0.model) } }

    func opened<Value: Sendable>(_ body: (Opened) -> Value) -> Value? { state.withLock { $0.opened.map(body) } }

    /// Reads the store, without waiting for a turn.
    func store<Value: Sendable>(_ body: (any MXStore) throws(MatrixError) -> Value) throws(MatrixError) -> Value {
        guard let store = state.withLock({ $0.opened?.store }) else { throw .sessionClosed }
        return try body(store)
    }

    func event(_ eventId: String, in roomId: String) throws(MatrixError) -> MXEvent? {
        try store { store throws(MatrixError) in try store.event(eventId, in: roomId) }
    }

    /// Records that a room was created here with encryption.
    func noteEncryption(of roomId: String) { state.withLock { _ = $0.encryptedRooms.insert(roomId) } }

    /// Returns whether a room is known to be encrypted from any source.
    func isEncrypted(_ roomId: String) throws(MatrixError) -> Bool {
        let isKnown = state.withLock { state in
            state.encryptedRooms.contains(roomId) || state.opened?.model.rooms[roomId]?.summary.isEncrypted == true
        }
        if isKnown { return true }
        // A room stays encrypted, whatever a server says when everything is requested again.
        if try hasRecord(RecordKey(EncryptedRoomRecord.kind, key: roomId)) { return true }
        return try read(roomId) { _, state throws(MatrixError) in state?.isEncrypted ?? false }
    }

    // MARK: Rooms

    /// Returns the object of a room in the model, creating it if necessary.
    func room(_ roomId: String, make: (MXRoomSummary) -> MXRoom) -> MXRoom? {
        state.withLock { state in
            guard let summary = state.opened?.model.rooms[roomId]?.summary else { return nil }
            if let room = state.rooms[roomId] { return room }
            let room = make(summary)
            state.rooms[roomId] = room
            return room
        }
    }

    /// Returns the existing object of a room.
    func knownRoom(_ roomId: String) -> MXRoom? { state.withLock { $0.rooms[roomId] } }

    /// Begins a wait. From then on, only the caller that takes the waiter out resumes it.
    ///
    /// - Returns: The outcome if the wait is over already and has not begun; `nil` if it has begun.
    func add(_ waiter: RoomWaiter) -> Result<Void, any Error>? {
        state.withLock { state in
            guard let model = state.opened?.model else { return .failure(MatrixError.sessionClosed) }
            if waiter.condition(model.rooms[waiter.roomId]) { return .success(()) }
            if Task.isCancelled { return .failure(CancellationError()) }
            state.waiters.append(waiter)
            return nil
        }
    }

    func takeWaiter(_ id: UUID) -> RoomWaiter? {
        state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            return state.waiters.remove(at: index)
        }
    }

    /// Takes out the waiters whose condition is met.
    func takeDoneWaiters() -> [RoomWaiter] {
        state.withLock { state in
            guard let model = state.opened?.model else { return [] }
            let done = state.waiters.filter { $0.condition(model.rooms[$0.roomId]) }
            let ids = Set(done.map(\.id))
            state.waiters.removeAll { ids.contains($0.id) }
            return done
        }
    }

    // MARK: Turns

    /// Changes the model and the store. Changes the store cannot take now are queued behind earlier ones, so their
    /// order never differs.
    ///
    /// - Parameter body: Returns the changes to store; `nil` for none. If it throws, it must not have changed anything.
    /// - Throws: If the model is changed, but the store will be changed later.
    func change(_ body: (inout SessionModel, any MXStore) throws(MatrixError) -> MXStoreChanges?) throws(MatrixError) {
        _ = try inTurn { draft throws(MatrixError) in
            guard let changes = try body(&draft.opened.model, draft.opened.store) else { return }
            try draft.commit(changes)
        }
    }

    /// Reads the store and a room's state at the same moment.
    func read<Value>(
        _ roomId: String, _ body: (any MXStore, MXRoomState?) throws(MatrixError) -> Value
    ) throws(MatrixError) -> Value {
        try inTurn { draft throws(MatrixError) in
            let store = draft.opened.store
            return try body(store, try draft.opened.model.state(of: roomId, in: store))
        }.0
    }

    /// Applies the answer to a sync to the model, and stores it.
    ///
    /// - Parameters:
    ///   - wantsAllStates: Whether a listener listens to all rooms and needs their states.
    ///   - tellsKnown: Whether to deliver known events again.
    /// - Returns: The stored answers to deliver.
    func apply(
        _ response: SyncResponse, wantsAllStates: Bool, tellsKnown: Bool = false
    ) throws(MatrixError) -> [Uncommitted] {
        try inTurn { draft throws(MatrixError) in
            try draft.commitChanges()
            let rooms = draft.rooms
            // An answer that cannot be applied completely changes nothing.
            var (model, crypto, response) = (draft.opened.model, draft.opened.crypto, response)
            let step = try crypto?.step(on: draft.opened.store) { machine, turn in
                try machine.noteJoins(in: response, before: model, &turn)
                try machine.read(&response, isInitial: model.syncToken == nil, &turn)
            }
            var applied = try model.apply(
                response, store: draft.opened.store, now: .now, tellsKnown: tellsKnown
            ) { roomId in
                wantsAllStates || rooms[roomId]?.timelines.contains(where: \.hasListeners) == true
            }
            if let step { try applied.add(step, to: &model, draft.opened.store) }
            (draft.opened.model, draft.opened.crypto) = (model, crypto)
            applied.changes.toldToDevice = takeTold()
            try draft.commit(applied)
        }.committed
    }

    // MARK: Messages to this device

    /// Returns the messages to deliver first, once: the previous process ended before, or soon after, delivering them.
    func takeUntold() -> [MXToDeviceMessage] {
        state.withLock { state in
            defer { state.untold = [] }
            return state.untold
        }
    }

    /// Marks messages as delivered. If the process ends before that is stored, the next one delivers them again.
    func noteTold(_ ids: [String]) {
        guard !ids.isEmpty else { return }
        state.withLock { $0.told += ids }
    }

    private func takeTold() -> [String] {
        state.withLock { state in
            defer { state.told = [] }
            return state.told
        }
    }

    var hasUncommitted: Bool { state.withLock { $0.opened?.uncommitted.isEmpty == false } }

    /// Stores the oldest pending change.
    ///
    /// - Returns: The stored answers to deliver.
    func commitNext() throws(MatrixError) -> [Uncommitted] {
        try inTurn { draft throws(MatrixError) in try draft.commitNext() }.committed
    }

    /// Passes a draft to `body`, and takes it over. The changes of `body` apply even if it throws.
    ///
    /// - Returns: The result of `body`, and the answers to syncs stored meanwhile, to be delivered.
    func inTurn<Value>(
        _ body: (inout Draft) throws(MatrixError) -> Value
    ) throws(MatrixError) -> (Value, committed: [Uncommitted]) {
        try owner.run { () throws(MatrixError) in
            let draft = state.withLock { state in state.opened.map { Draft(opened: $0, rooms: state.rooms) } }
            guard var draft else { throw .sessionClosed }
            let value: Value
            do throws(MatrixError) {
                value = try body(&draft)
            } catch {
                _ = takeOver(draft)
                throw error
            }
            return (value, takeOver(draft))
        }
    }

    /// Replaces the model, records the application's rooms for pending reports, and forgets rooms that were left. All
    /// of this is atomic: a room misses nothing that arrives after it was requested, and no caller gets one that is
    /// gone.
    private func takeOver(_ draft: Draft) -> [Uncommitted] {
        let (committed, old) = state.withLock { state -> ([Uncommitted], Opened?) in
            let committed = draft.committed.told(to: state.rooms)
            guard let old = state.opened else { return (committed, nil) }  // the store itself closed the session
            var opened = draft.opened
            opened.number += 1
            opened.uncommitted = opened.uncommitted.told(to: state.rooms)
            state.opened = opened
            // A room joined again before everything is delivered gets a new object. The old one is still held for
            // delivery.
            for roomId in draft.left { state.rooms[roomId] = nil }
            return (committed, old)
        }
        _ = old  // released after the lock: it is large
        return committed
    }

    // MARK: Loading on demand

    /// Data read must be as old as the model it is put into, so a sync in between makes it void. This many in a row are
    /// not bad luck but a sign of another problem.
    private static let attempts = 5

    /// Returns a room's state, from the store when first requested; `nil` if the room does not exist or cannot be read.
    ///
    /// Does not wait for a sync that is being stored.
    func roomState(_ roomId: String) -> MXRoomState? {
        var read: MXRoomState?
        for _ in 0..<Self.attempts {
            let (room, store, number) = state.withLock { state in
                (state.opened?.model.rooms[roomId], state.opened?.store, state.opened?.number)
            }
            guard let room, let store else { return nil }
            if let state = room.state { return state }
            guard let events = try? store.state(of: roomId) else { return nil }
            let new = MXRoomState(roomId: roomId, events: events)
            read = new
            let isTaken = state.withLock { state in
                guard state.opened?.number == number else { return false }
                state.opened?.model.loaded(new, of: roomId)
                return true
            }
            if isTaken { break }
        }
        return read
    }

    /// Loads an event's relations from the store into the model, once.
    ///
    /// Does not wait for a sync that is being stored.
    func loadRelations(of eventId: String, in roomId: String) {
        let isNeeded = model { $0.needsRelations(of: eventId, in: roomId) }
        if isNeeded == true { _ = readRelations(ofEach: [eventId], in: roomId) }
    }

    /// Returns the stored relations of each of these events that has any, and loads them into the model.
    func readRelations(ofEach eventIds: [String], in roomId: String) -> MXDictionary<[MXEvent]> {
        var read = MXDictionary<[MXEvent]>()
        for _ in 0..<Self.attempts {
            let (store, number) = state.withLock { ($0.opened?.store, $0.opened?.number) }
            guard let store, let relations = try? store.relations(toEach: eventIds, in: roomId) else { break }
            read = relations
            let isTaken = state.withLock { state in
                guard state.opened?.number == number else { return false }
                state.opened?.model.add(relations: relations, ofEach: eventIds, in: roomId)
                return true
            }
            if isTaken { break }
        }
        return read
    }
}

extension MXStoreChanges {
    fileprivate init(told ids: [String]) {
        self.init()
        toldToDevice = ids
    }
}

extension [StoredAccount.Uncommitted] {
    /// Adds these rooms to changes that have none yet.
    fileprivate func told(to rooms: [String: MXRoom]) -> Self {
        map { StoredAccount.Uncommitted(applied: $0.applied, rooms: $0.rooms ?? rooms) }
    }
}
