import MatrixProtocol

extension MXMatrixService {
    /// Creates a room and joins it. While syncing, it returns when the session has the room.
    ///
    /// - Returns: The room's id.
    public func createRoom(
        name: String?, isDirect: Bool, inviteUserIds: [String], isEncrypted: Bool
    ) async throws -> String {
        let session = try liveAccount().session
        return try await MatrixServiceError.mapped {
            let parameters = MXRoomCreationParameters()
            parameters.name = name
            parameters.isDirect = isDirect
            parameters.inviteArray = inviteUserIds
            parameters.preset = isDirect ? kMXRoomPresetTrustedPrivateChat : kMXRoomPresetPrivateChat
            parameters.isEncrypted = isEncrypted
            let creation = RoomCreation(parameters)
            let roomId = try await session.core.createRoom(parameters.encoded, creation)
            if isDirect, let user = inviteUserIds.first {
                try await note(roomId, asDirectWith: user, of: session, "was made")
            }
            try await session.core.settle(roomId, creation.isComplete)
            return roomId
        }
    }

    /// Joins a room, or accepts an invitation. While syncing, it returns when the session has the room.
    ///
    /// - Returns: The room's id.
    public func joinRoom(roomIdOrAlias: String) async throws -> String {
        let session = try liveAccount().session
        return try await MatrixServiceError.mapped {
            let invitation = session.core.account.summary(roomIdOrAlias).flatMap { $0.membership == .invite ? $0 : nil }
            let roomId: String
            do {
                roomId = try await session.matrixRestClient.joinRoom(roomIdOrAlias)
            } catch let error as MXError where error.errcode == kMXErrCodeStringNotFound {
                throw MatrixServiceError.roomNotFound
            }
            if let invitation, invitation.isDirect, let inviter = invitation.inviter {
                try await note(roomId, asDirectWith: inviter, of: session, "was joined")
            }
            try await session.core.settle(roomId) { $0.isJoined }
            return roomId
        }
    }

    private func note(_ roomId: String, asDirectWith user: String, of session: MXSession, _ done: String) async throws {
        do {
            try await session.core.addDirectRoom(roomId, with: user)
        } catch  where !error.isCancellation {
            throw MatrixServiceError.sdkError(
                "The room \(roomId) \(done), but could not be noted as a direct chat: \(MatrixServiceError.of(error))")
        }
    }

    /// Leaves a room, or declines an invitation. While syncing, it returns when the room is gone.
    public func leaveRoom(roomId: String) async throws {
        let core = try room(roomId).core
        try await MatrixServiceError.mapped {
            try await core.rest.leaveRoom(roomId)
            try await core.settle(roomId) { $0 == nil }
        }
    }

    /// Returns a known room that the user has joined, is invited to or has knocked on.
    public func getRoom(roomId: String) async throws -> MatrixRoom? {
        guard let room = try knownAccount().session.room(withRoomId: roomId) else { return nil }
        return await MatrixRoom.read(room)
    }

    /// Returns the joined rooms, the one with the newest message first.
    public func getJoinedRooms() async throws -> [MatrixRoom] {
        await MatrixRoom.joined(in: try knownAccount().session)
    }

    /// Invites a user.
    public func inviteUser(roomId: String, userId: String) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped { try await room.invite(userId) }
    }

    /// Removes a user, who may rejoin if invited.
    public func kickUser(roomId: String, userId: String, reason: String?) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped { try await room.kickUser(userId, reason: reason) }
    }
}
