import Basics
import MatrixProtocol

extension SessionCore {
    func room(_ roomId: String) -> MXRoom? {
        account.room(roomId) { MXRoom(roomId: roomId, core: self, summary: $0) }
    }

    func rooms(_ membership: MXMembership) -> [MXRoom] {
        let ids = account.model { $0.rooms.filter { $0.value.summary.membership == membership }.map(\.key) } ?? []
        return ids.sorted().compactMap { room($0) }
    }

    // MARK: Creation

    /// Creates a room. If it is to be encrypted, nothing is sent to it in the clear, however late a sync reports the
    /// encryption.
    func createRoom(_ body: EncodedJSON, _ creation: RoomCreation) async throws -> String {
        let roomId = try await rest.createRoom(body: body)
        if creation.isEncrypted { try? noteEncryption(of: roomId) }
        return roomId
    }

    // MARK: History

    /// Fetches events older than the store's, and stores them. Discards them if a sync leaves a gap meanwhile.
    ///
    /// - Returns: The senders of these events, as they were then, if members are loaded lazily.
    @discardableResult
    func loadOlder(_ roomId: String, limit: Int) async throws -> [MXEvent] {
        guard let token = account.summary(roomId)?.paginationToken else { return [] }
        let page = try await rest.messages(
            forRoom: roomId, from: token, direction: .backwards, limit: limit, filter: lazyLoadFilter)
        let chunk = try decrypted(page.chunk, in: roomId)
        try account.change { model, store throws(MatrixError) in
            guard model.rooms[roomId]?.summary.paginationToken == token else { return nil }
            let known = Set(texts: try store.knownEvents(among: chunk.map(\.eventId), in: roomId))
            let older = chunk.filter { !known.contains($0.eventId) }.map { $0.inRoom(roomId) }
            _ = try model.state(of: roomId, in: store)
            let last = model.rooms[roomId]?.summary.lastMessageId
            let hasLast = try last.map { id throws(MatrixError) in try store.event(id, in: roomId) != nil } ?? false
            return model.paginated(
                roomId, older: older, token: page.end, members: page.state, hasLastMessage: hasLast)
        }
        return page.state
    }

    private var lazyLoadFilter: String? { options.lazyLoadsMembers ? #"{"lazy_load_members":true}"# : nil }

    func loadMembers(_ roomId: String) async throws {
        // A list is outdated if the room is sent as a whole meanwhile.
        for _ in 0..<3 where account.summary(roomId)?.membersAreComplete == false {
            // A sync updates members that change after this point of the stream; that must not be undone.
            var (token, before, origin): (String?, MXRoomMembers?, String?)
            try account.change { model, store throws(MatrixError) in
                (token, before) = (model.syncToken, try model.state(of: roomId, in: store)?.members)
                origin = model.rooms[roomId]?.origin
                return nil
            }
            let members = try await rest.members(ofRoom: roomId, at: token, notMembership: .leave)
            try noteInvitations(among: members)
            try account.change { model, store throws(MatrixError) in
                guard try model.state(of: roomId, in: store) != nil else { return nil }
                return model.membersLoaded(roomId, members, before: before ?? MXRoomMembers(), of: origin)
            }
            tell([.summaryChanged(roomId: roomId)])
        }
    }
}
