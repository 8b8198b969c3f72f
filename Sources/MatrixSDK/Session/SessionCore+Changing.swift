import MatrixProtocol
import Basics

/// Changes of the model and the store, one after the other, with no lock held while the store works.
///
/// Whoever has the turn changes a copy of the model; the session takes it over when the store has committed what goes with
/// it, or has refused. Getters see the model as it was until then, and never wait for the store.
extension SessionCore {
    struct Uncommitted: Sendable {
        let applied: SessionModel.Applied
        /// The rooms as the application held them when the model was taken over: those that are left now are still told of
        /// it. Nil before.
        var rooms: [String: MXRoom]?
    }

    /// What the one who has the turn works on.
    struct Draft: Sendable {
        var model: SessionModel
        let store: any MXStore
        /// As the application held them when the turn began.
        let rooms: [String: MXRoom]
        /// What the model has and the store could not take yet, oldest first: answers to syncs, and other changes.
        private(set) var uncommitted: [Uncommitted]
        /// How many events have come to each room since its timeline was last trimmed.
        private(set) var growth: [String: Int]
        /// Answers that the store has taken in this turn.
        fileprivate var committed: [Uncommitted] = []
        /// Rooms that the model has not any more.
        fileprivate var left: [String] = []

        /// Nil before the store is open, and after the session was closed.
        fileprivate init?(_ state: State) {
            guard let store = state.store, let model = state.model else { return nil }
            (self.model, self.store, rooms) = (model, store, state.rooms)
            (uncommitted, growth) = (state.uncommitted, state.growth)
        }
    }

    /// Gives the model and the store to `body`. What it has done counts also if it throws.
    ///
    /// - Returns: What it returns, and the answers to syncs that were stored meanwhile, to be told.
    func inTurn<Value>(
        _ body: (inout Draft) throws(MatrixError) -> Value
    ) throws(MatrixError) -> (Value, committed: [Uncommitted]) {
        try storeOwner.run { () throws(MatrixError) in
            guard var draft = state.withLock({ Draft($0) }) else { throw .sessionClosed }
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

    private func takeOver(_ draft: Draft) -> [Uncommitted] {
        let (committed, old) = state.withLock { state -> ([Uncommitted], SessionModel?) in
            var committed = draft.committed
            for index in committed.indices where committed[index].rooms == nil { committed[index].rooms = state.rooms }
            guard let old = state.model else { return (committed, nil) }  // the store itself has closed the session
            state.model = draft.model
            state.modelNumber += 1
            state.uncommitted = draft.uncommitted
            state.growth = draft.growth
            for index in state.uncommitted.indices where state.uncommitted[index].rooms == nil {
                state.uncommitted[index].rooms = state.rooms
            }
            // Who joins one of these again before all is told gets a new object.
            for roomId in draft.left { state.rooms[roomId] = nil }
            return (committed, old)
        }
        _ = old  // let go of after the lock: it is large
        return committed
    }

    /// Changes the model and the store. What the store cannot take now waits behind what it could not take before: they
    /// never differ in their order.
    ///
    /// - Parameter body: Returns what is to be stored; nil for nothing. It throws before it has changed anything.
    /// - Throws: If the model is changed, and the store will be later.
    func change(_ body: (inout SessionModel, any MXStore) throws(MatrixError) -> MXStoreChanges?) throws(MatrixError) {
        _ = try inTurn { draft throws(MatrixError) in
            guard let changes = try body(&draft.model, draft.store) else { return }
            try draft.commit(changes)
        }
    }

    /// Reads the store and the state of a room as of the same moment.
    func read<Value>(
        _ roomId: String, _ body: (any MXStore, MXRoomState?) throws(MatrixError) -> Value
    ) throws(MatrixError) -> Value {
        try inTurn { draft throws(MatrixError) in
            try body(draft.store, try draft.model.state(of: roomId, in: draft.store))
        }.0
    }

    // MARK: What is loaded when it is asked for

    /// What is read must be as old as the model that it is put into. A sync that comes in between makes it void; to be met
    /// so often is no luck but a sign of something else.
    private static let attempts = 5

    /// A room's state, from the store if nobody has asked before. Nil for a room that is not there.
    ///
    /// It does not wait for a sync that is being stored.
    func loadState(of roomId: String) throws(MatrixError) -> MXRoomState? {
        var read: MXRoomState?
        for _ in 0..<Self.attempts {
            let (room, store, number) = state.withLock { ($0.model?.rooms[roomId], $0.store, $0.modelNumber) }
            guard let room, let store else { return nil }
            if let state = room.state { return state }
            let new = MXRoomState(roomId: roomId, events: try store.state(of: roomId))
            read = new
            let isTaken = state.withLock { state in
                guard state.modelNumber == number else { return false }
                state.model?.loaded(new, of: roomId)
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
        for _ in 0..<Self.attempts {
            let (isNeeded, store, number) = state.withLock { state in
                (state.model?.needsRelations(of: eventId, in: roomId) == true, state.store, state.modelNumber)
            }
            guard isNeeded, let store, let relations = try? store.relations(to: eventId, in: roomId) else { return }
            let isTaken = state.withLock { state in
                guard state.modelNumber == number else { return false }
                state.model?.add(relations: relations, of: eventId, in: roomId)
                return true
            }
            if isTaken { return }
        }
    }
}

extension SessionCore.Draft {
    /// The store is asked to trim a timeline when so many events have come to it.
    private static let growth = 50

    /// Takes over what an answer has led to, and stores it: nobody sees a model that the store does not know.
    mutating func commit(_ applied: SessionModel.Applied) throws(MatrixError) {
        uncommitted.append(SessionCore.Uncommitted(applied: applied))
        for case .left(let roomId, _) in applied.notices { left.append(roomId) }
        try commitNext()
    }

    /// Stores a change that no answer has led to.
    fileprivate mutating func commit(_ changes: MXStoreChanges) throws(MatrixError) {
        uncommitted.append(SessionCore.Uncommitted(applied: SessionModel.Applied(changes: changes)))
        try commitChanges()
        guard uncommitted.isEmpty else {
            throw MatrixError(.store, "the store has not taken yet what a sync has brought: it is tried again")
        }
    }

    /// Stores the oldest of what has been applied and is not stored yet.
    mutating func commitNext() throws(MatrixError) {
        guard let next = uncommitted.first else { return }
        try store.commit(next.applied.changes)
        uncommitted.removeFirst()
        trim(after: next.applied.changes)
        if next.applied.changes.syncToken != nil { committed.append(next) }
    }

    /// Stores what waits, up to what a sync has brought: whoever stores that tells of it.
    mutating func commitChanges() throws(MatrixError) {
        while let next = uncommitted.first, next.applied.changes.syncToken == nil { try commitNext() }
    }

    /// Lets the oldest events of rooms go that the store has too many of, unless somebody is paging through them, which
    /// begins in a turn.
    private mutating func trim(after changes: MXStoreChanges) {
        for (roomId, room) in changes.rooms where !room.timeline.isEmpty {
            growth[roomId, default: 0] += room.timeline.count
            // What is not stored yet would bring the old pagination token back.
            guard growth[roomId, default: 0] >= Self.growth, uncommitted.isEmpty,
                rooms[roomId]?.liveTimeline.isPaginated != true
            else { continue }
            growth[roomId] = nil
            // Where this fails, the next commit does too, and says so.
            if let token = (try? store.trimTimeline(of: roomId)) ?? nil { model.trimmed(roomId, token: token) }
        }
    }
}
