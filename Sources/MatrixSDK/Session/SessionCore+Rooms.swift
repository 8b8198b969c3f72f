import MatrixProtocol
import Basics

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

    /// From the store if nobody has asked before. Nil for a room that is not there, or cannot be read.
    func roomState(_ roomId: String) -> MXRoomState? { (try? loadState(of: roomId)) ?? nil }

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
        let (token, before) = try inTurn { draft throws(MatrixError) in
            (draft.model.syncToken, try draft.model.state(of: roomId, in: draft.store)?.members)
        }.0
        let members = try await rest.members(ofRoom: roomId, at: token, notMembership: .leave)
        try change { model, store throws(MatrixError) in
            guard try model.state(of: roomId, in: store) != nil else { return nil }
            return model.membersLoaded(roomId, members, before: before ?? MXRoomMembers())
        }
        tell([.summaryChanged(roomId: roomId)])
    }
}
