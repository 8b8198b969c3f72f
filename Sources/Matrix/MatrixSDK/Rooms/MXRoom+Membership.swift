import MatrixProtocol

extension MXRoom {
    /// Joins the room the user is invited to.
    public func join() async throws {
        let isDirect = summary.membership == .invite && summary.isDirect
        let inviter = summary.inviter
        _ = try await core.rest.joinRoom(roomId)
        if isDirect, let inviter { try await core.addDirectRoom(roomId, with: inviter) }
    }

    /// Leaves the room, or declines the invitation.
    public func leave(reason: String? = nil) async throws { try await core.rest.leaveRoom(roomId, reason: reason) }

    /// Invites a user. If the room is encrypted and new members may read earlier messages, first sends the user their
    /// keys.
    public func invite(_ userId: String, reason: String? = nil) async throws {
        try await core.invite(userId, to: roomId, reason: reason)
    }

    /// Like ``invite(_:reason:)``, for a program that reports the result and may then exit: the keys have been sent on
    /// return.
    ///
    /// - Returns: Why the keys could not be sent; `nil` if they were, or there are none to send.
    package func inviteGivingKeys(_ userId: String) async throws -> (any Error)? {
        try await core.invite(userId, to: roomId, waits: true)
    }

    /// Removes a user, who may rejoin.
    public func kickUser(_ userId: String, reason: String? = nil) async throws {
        try await core.rest.kickUser(userId, fromRoom: roomId, reason: reason)
    }

    /// Removes a user, who may not rejoin.
    public func banUser(_ userId: String, reason: String? = nil) async throws {
        try await core.rest.banUser(userId, fromRoom: roomId, reason: reason)
    }

    /// Allows a banned user to rejoin.
    public func unbanUser(_ userId: String, reason: String? = nil) async throws {
        try await core.rest.unbanUser(userId, fromRoom: roomId, reason: reason)
    }

    /// Sets the room's name.
    public func setName(_ name: String) async throws { try await core.rest.setRoomName(name, ofRoom: roomId) }

    /// Encrypts the room from now on. This cannot be undone.
    ///
    /// - Throws: The server's error if the user lacks permission.
    public func enableEncryption() async throws {
        try await core.rest.sendStateEvent(
            toRoom: roomId, eventType: .roomEncryption, content: EncodedJSON(["algorithm": "m.megolm.v1.aes-sha2"]),
            stateKey: "")
        try? core.noteEncryption(of: roomId)  // the room is encrypted even if the store fails
    }

    /// Sets the room's topic.
    public func setTopic(_ topic: String) async throws { try await core.rest.setRoomTopic(topic, ofRoom: roomId) }
}
