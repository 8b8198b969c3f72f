import Basics
import MatrixEncryption
import MatrixProtocol

/// The store of an account, the model of what the store holds, and the application's rooms.
///
/// Changes take turns, and no lock is held while the store works. A turn changes a ``Draft``, which replaces the model when
/// the store has committed what goes with it, or has refused. Getters read the model as it was until then, and never wait
/// for the store.
///
/// The rooms and those who wait for one share the model's lock: a room gets an object only while the model has it, and
/// nobody starts to wait for what the model has already. This lock and the session's are never held at the same time.
final class StoredAccount: Sendable {
    /// What has changed the model: what is to be stored of it, then told.
    struct Uncommitted: Sendable {
        let applied: SessionModel.Applied
        /// The application's rooms when the draft replaced the model: those that are left now are still told of it. Nil
        /// before.
        var rooms: [String: MXRoom]?
    }

    /// A store that is open, and what the model has of it.
    struct Opened: Sendable {
        /// Called in turns, or to read.
        let store: any MXStore
        /// Changed in turns. What a getter loads into it meanwhile may be lost.
        var model: SessionModel
        /// Counts the models.
        var number = 0
        /// What the model has and the store could not take yet, oldest first: answers to syncs, and other changes.
        var uncommitted: [Uncommitted] = []
        /// How many events have come to each room since its timeline was last trimmed.
        var growth: [String: Int] = [:]
        /// Nil: nothing is encrypted here.
        var crypto: CryptoMachine?
    }

    private struct State {
        /// Nil before the store is open, and after the end.
        var opened: Opened?
        var hasEnded = false
        var rooms: [String: MXRoom] = [:]
        var waiters: [RoomWaiter] = []
        /// Rooms that were created here with encryption: no sync may have said so yet.
        var encryptedRooms: Set<String> = []
        /// Messages to this device that an earlier process has stored, and perhaps not told.
        var untold: [MXToDeviceMessage] = []
        /// Ids of messages to this device that were told: they leave the store with the next changes.
        var told: [String] = []
    }

    private let state = Lock(State())
    private let owner = StoreOwner()

    // MARK: Beginning and end

    /// - Parameters:
    ///   - encryption: Whether there is to be any.
    ///   - isAllowed: Asked in the turn in which the store is opened.
    /// - Returns: Why the store was rebuilt, if it was, and what is to be told of its keys.
    func open(
        _ store: any MXStore, userId: String, deviceId: String?, encryption: Encryption = .ifBegun,
        if isAllowed: () -> Bool
    ) throws(MatrixError) -> (rebuildReason: String?, notices: [CryptoNotice]) {
        try owner.run { () throws(MatrixError) in
            guard !isOpen, isAllowed() else { throw .storeIsSet }
            let stored = try store.open(userId: userId, deviceId: deviceId)
            var (model, notices) = (SessionModel(userId: userId, stored: stored, now: .now), [CryptoNotice]())
            do throws(MatrixError) {
                // What was on its way when the last process ended has not arrived as far as anybody knows.
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
                guard isOpen else { throw .sessionClosed }  // by the store itself
            } catch {
                store.close()
                throw error
            }
            return (stored.rebuildReason, notices)
        }
    }

    /// Ends it for good, in the last turn. The store keeps what it has.
    ///
    /// - Parameter stop: Called first, in the same turn.
    func close(_ stop: () -> Void) { end(stop) { $0.close() } }

    /// The same, but the store is deleted.
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

    /// From the store.
    func event(_ eventId: String, in roomId: String) throws(MatrixError) -> MXEvent? {
        try store { store throws(MatrixError) in try store.event(eventId, in: roomId) }
    }

    /// Notes that a room was created here with encryption.
    func noteEncryption(of roomId: String) { state.withLock { _ = $0.encryptedRooms.insert(roomId) } }

    /// Whether a room is encrypted, by anything that is known here.
    func isEncrypted(_ roomId: String) throws(MatrixError) -> Bool {
        let isKnown = state.withLock { state in
            state.encryptedRooms.contains(roomId) || state.opened?.model.rooms[roomId]?.summary.isEncrypted == true
        }
        if isKnown { return true }
        // That a room is encrypted is not forgotten, whatever a server says when everything is asked for anew.
        if try hasRecord(RecordKey(EncryptedRoomRecord.kind, key: roomId)) { return true }
        return try read(roomId) { _, state throws(MatrixError) in state?.isEncrypted ?? false }
    }

    // MARK: Rooms

    /// The object of a room that the model has, made if there is none.
    func room(_ roomId: String, make: (MXRoomSummary) -> MXRoom) -> MXRoom? {
        state.withLock { state in
            guard let summary = state.opened?.model.rooms[roomId]?.summary else { return nil }
            if let room = state.rooms[roomId] { return room }
            let room = make(summary)
            state.rooms[roomId] = room
            return room
        }
    }

    /// The object of a room if there is one.
    func knownRoom(_ roomId: String) -> MXRoom? { state.withLock { $0.rooms[roomId] } }

    /// Begins a wait. From then on whoever takes the waiter out resumes it, and nobody else.
    ///
    /// - Returns: The wait's outcome if it is over already, and has not begun; nil if it has begun.
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

    /// Takes out those who have what they wait for.
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

    /// Changes the model and the store. What the store cannot take now waits behind what it could not take before: they
    /// never differ in their order.
    ///
    /// - Parameter body: Returns what is to be stored; nil for nothing. It throws before it has changed anything.
    /// - Throws: If the model is changed, and the store will be later.
    func change(_ body: (inout SessionModel, any MXStore) throws(MatrixError) -> MXStoreChanges?) throws(MatrixError) {
        _ = try inTurn { draft throws(MatrixError) in
            guard let changes = try body(&draft.opened.model, draft.opened.store) else { return }
            try draft.commit(changes)
        }
    }

    /// Reads the store and the state of a room as of the same moment.
    func read<Value>(
        _ roomId: String, _ body: (any MXStore, MXRoomState?) throws(MatrixError) -> Value
    ) throws(MatrixError) -> Value {
        try inTurn { draft throws(MatrixError) in
            let store = draft.opened.store
            return try body(store, try draft.opened.model.state(of: roomId, in: store))
        }.0
    }

    /// Applies an answer to a sync to the model, and stores it.
    ///
    /// - Parameters:
    ///   - wantsAllStates: Whether somebody listens to all rooms, and is given their states.
    ///   - tellsKnown: Whether what is known already is told once more.
    /// - Returns: The answers that were stored, to be told.
    func apply(
        _ response: SyncResponse, wantsAllStates: Bool, tellsKnown: Bool = false
    ) throws(MatrixError) -> [Uncommitted] {
        try inTurn { draft throws(MatrixError) in
            try draft.commitChanges()
            let rooms = draft.rooms
            // An answer that cannot be applied as a whole changes nothing.
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

    /// Those that are to be told first of all, once: the process before has ended before it told them, or soon after.
    func takeUntold() -> [MXToDeviceMessage] {
        state.withLock { state in
            defer { state.untold = [] }
            return state.untold
        }
    }

    /// They need not be kept any more. Who ends before that is stored is told again.
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

    /// Stores the oldest of what was applied and is not stored yet.
    ///
    /// - Returns: The answers that were stored, to be told.
    func commitNext() throws(MatrixError) -> [Uncommitted] {
        try inTurn { draft throws(MatrixError) in try draft.commitNext() }.committed
    }

    /// Gives a draft to `body`, and takes it over. What `body` has done counts also if it throws.
    ///
    /// - Returns: What it returns, and the answers to syncs that were stored meanwhile, to be told.
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

    /// Replaces the model, notes the application's rooms for what is to be told, and forgets rooms that were left: all at
    /// once, so that a room misses nothing that comes after it was asked for, and nobody gets one that is gone.
    private func takeOver(_ draft: Draft) -> [Uncommitted] {
        let (committed, old) = state.withLock { state -> ([Uncommitted], Opened?) in
            let committed = draft.committed.told(to: state.rooms)
            guard let old = state.opened else { return (committed, nil) }  // the store itself has closed the session
            var opened = draft.opened
            opened.number += 1
            opened.uncommitted = opened.uncommitted.told(to: state.rooms)
            state.opened = opened
            // Joined again before all is told, one of these gets a new object. The old one is still held to be told.
            for roomId in draft.left { state.rooms[roomId] = nil }
            return (committed, old)
        }
        _ = old  // let go of after the lock: it is large
        return committed
    }

    // MARK: What is loaded when it is asked for

    /// What is read must be as old as the model that it is put into. A sync that comes in between makes it void; to be met
    /// so often is no luck but a sign of something else.
    private static let attempts = 5

    /// From the store if nobody has asked before. Nil for a room that is not there, or cannot be read.
    ///
    /// It does not wait for a sync that is being stored.
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

    /// Takes into the model what the store has of others' words about an event, once.
    ///
    /// It does not wait for a sync that is being stored.
    func loadRelations(of eventId: String, in roomId: String) {
        let isNeeded = model { $0.needsRelations(of: eventId, in: roomId) }
        if isNeeded == true { _ = readRelations(ofEach: [eventId], in: roomId) }
    }

    /// What the store has of others' words about each of these events that has any. The model has it then, too.
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
    /// With these rooms where none were noted yet.
    fileprivate func told(to rooms: [String: MXRoom]) -> Self {
        map { StoredAccount.Uncommitted(applied: $0.applied, rooms: $0.rooms ?? rooms) }
    }
}
