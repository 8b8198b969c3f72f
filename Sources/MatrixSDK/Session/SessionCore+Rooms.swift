import MatrixProtocol
import Transport

/// Rooms as the application holds them.
extension SessionCore {
    func room(_ roomId: String) -> MXRoom? {
        state.withLock { state in
            guard let summary = state.model?.rooms[roomId]?.summary else { return nil }
            if let room = state.rooms[roomId] { return room }
            let room = MXRoom(roomId: roomId, core: self, summary: summary)
            state.rooms[roomId] = room
            return room
        }
    }

    func rooms(_ membership: MXMembership) -> [MXRoom] {
        let ids = state.withLock { state in
            (state.model?.rooms ?? [:]).filter { $0.value.summary.membership == membership }.map(\.key)
        }
        return ids.sorted().compactMap { room($0) }
    }

    func summary(_ roomId: String) -> MXRoomSummary? { state.withLock { $0.model?.rooms[roomId]?.summary } }

    var summaries: [MXRoomSummary] { state.withLock { $0.model?.rooms.values.map(\.summary) ?? [] } }

    func model<Value: Sendable>(_ body: (SessionModel) -> Value) -> Value? { state.withLock { $0.model.map(body) } }

    /// Reads the store.
    func store<Value: Sendable>(_ body: (any MXStore) throws(MatrixError) -> Value) throws(MatrixError) -> Value {
        guard let store = state.withLock({ $0.store }) else { throw .sessionClosed }
        return try body(store)
    }

    /// Reads the store and the state of a room as of the same moment.
    func read<Value>(
        _ roomId: String, _ body: (any MXStore, MXRoomState?) throws(MatrixError) -> Value
    ) throws(MatrixError) -> Value {
        try state.withLock { state throws(MatrixError) in
            guard let store = state.store else { throw .sessionClosed }
            return try body(store, try state.model?.state(of: roomId, in: store))
        }
    }

    /// From the store if nobody has asked before. Nil for a room that is not there, or cannot be read.
    func roomState(_ roomId: String) -> MXRoomState? {
        state.withLock { state in
            guard let store = state.store else { return nil }
            return (try? state.model?.state(of: roomId, in: store)) ?? nil
        }
    }

    /// Changes the model and the store. What the store cannot take now waits behind what it could not take before: they
    /// never differ in their order.
    ///
    /// - Parameter body: Returns what is to be stored; nil for nothing. It throws before it has changed anything.
    /// - Throws: If the model is changed, and the store will be later.
    func change(_ body: (inout SessionModel, any MXStore) throws(MatrixError) -> MXStoreChanges?) throws(MatrixError) {
        try state.withLock { state throws(MatrixError) in
            guard let changes = try state.changeModel(body) else { return }
            state.uncommitted.append(SessionCore.Uncommitted(applied: SessionModel.Applied(changes: changes)))
            try state.commitChanges()
            guard state.uncommitted.isEmpty else {
                throw MatrixError(.store, "the store has not taken yet what a sync has brought: it is tried again")
            }
        }
    }

    // MARK: Creation

    /// Creates a room. Nothing is sent into it in the clear if it is to be encrypted, however late a sync says so.
    func createRoom(_ body: EncodedJSON, _ creation: RoomCreation) async throws -> String {
        let roomId = try await rest.createRoom(body: body)
        if creation.isEncrypted { state.withLock { _ = $0.encryptedRooms.insert(roomId) } }
        return roomId
    }

    /// Whether a room is encrypted, by anything that is known here.
    func isEncrypted(_ roomId: String) throws(MatrixError) -> Bool {
        if summary(roomId)?.isEncrypted == true || state.withLock({ $0.encryptedRooms.contains(roomId) }) {
            return true
        }
        return try read(roomId) { _, state throws(MatrixError) in state?.isEncrypted ?? false }
    }

    // MARK: History

    /// Fetches what is older than the store, and stores it. A sync that leaves a gap meanwhile makes it void.
    ///
    /// - Returns: Those who say something in it, as they were then, if members come late.
    @discardableResult
    func loadOlder(_ roomId: String, limit: Int) async throws -> [MXEvent] {
        guard let token = summary(roomId)?.paginationToken else { return [] }
        let page = try await rest.messages(
            forRoom: roomId, from: token, direction: .backwards, limit: limit, filter: lazyLoadFilter)
        try change { model, store throws(MatrixError) in
            guard model.rooms[roomId]?.summary.paginationToken == token else { return nil }
            let known = try store.knownEvents(among: page.chunk.map(\.eventId), in: roomId)
            let older = page.chunk.filter { !known.contains($0.eventId) }.map { $0.inRoom(roomId) }
            _ = try model.state(of: roomId, in: store)
            return model.paginated(roomId, older: older, token: page.end, members: page.state)
        }
        return page.state
    }

    private var lazyLoadFilter: String? { options.lazyLoadsMembers ? #"{"lazy_load_members":true}"# : nil }

    func loadMembers(_ roomId: String) async throws {
        guard let summary = summary(roomId), !summary.membersAreComplete else { return }
        // Who changes after this point of the stream is changed by a sync, which must not be undone.
        let (token, before) = try state.withLock { state throws(MatrixError) in
            guard let store = state.store else { throw .sessionClosed }
            return (state.model?.syncToken, try state.model?.state(of: roomId, in: store)?.members)
        }
        let members = try await rest.members(ofRoom: roomId, at: token, notMembership: .leave)
        try change { model, store throws(MatrixError) in
            guard try model.state(of: roomId, in: store) != nil else { return nil }
            return model.membersLoaded(roomId, members, before: before ?? MXRoomMembers())
        }
        tell([.summaryChanged(roomId: roomId)])
    }
}

extension SessionCore.State {
    /// The store is asked to trim a timeline when so many events have come to it.
    private static let growth = 50

    /// Stores the oldest of what has been applied and is not stored yet.
    ///
    /// - Returns: It, to be told; nil if there is none.
    mutating func commitNext() throws(MatrixError) -> SessionCore.Uncommitted? {
        guard let next = uncommitted.first, let store else { return nil }
        try store.commit(next.applied.changes)
        uncommitted.removeFirst()
        trim(after: next.applied.changes)
        return next
    }

    /// Stores what waits, up to what a sync has brought: whoever stores that tells of it.
    mutating func commitChanges() throws(MatrixError) {
        while let next = uncommitted.first, next.applied.changes.syncToken == nil { _ = try commitNext() }
    }

    fileprivate mutating func changeModel(
        _ body: (inout SessionModel, any MXStore) throws(MatrixError) -> MXStoreChanges?
    ) throws(MatrixError) -> MXStoreChanges? {
        guard let store, var model else { throw .sessionClosed }
        self.model = nil  // so that it is changed in place
        defer { self.model = model }
        return try body(&model, store)
    }

    /// Lets the oldest events of rooms go that the store has too many of, unless somebody is paging through them.
    private mutating func trim(after changes: MXStoreChanges) {
        for (roomId, room) in changes.rooms where !room.timeline.isEmpty {
            growth[roomId, default: 0] += room.timeline.count
            // What is not stored yet would bring the old pagination token back.
            guard growth[roomId, default: 0] >= Self.growth, uncommitted.isEmpty,
                rooms[roomId]?.liveTimeline.isPaginated != true
            else { continue }
            growth[roomId] = nil
            // Where this fails, the next commit does too, and says so.
            if let token = (try? store?.trimTimeline(of: roomId)) ?? nil { model?.trimmed(roomId, token: token) }
        }
    }
}
