import MatrixProtocol

/// Who is in the room.
extension MXRoom {
    /// Joins the room that we are invited to.
    public func join() async throws {
        let isDirect = summary.membership == .invite && summary.isDirect
        let inviter = summary.inviter
        _ = try await core.rest.joinRoom(roomId)
        if isDirect, let inviter { try await core.addDirectRoom(roomId, with: inviter) }
    }

    /// Leaves the room, or declines the invitation.
    public func leave(reason: String? = nil) async throws { try await core.rest.leaveRoom(roomId, reason: reason) }

    /// Invites a user, who is given the keys of earlier messages first if the room is encrypted and new members may read them.
    public func invite(_ userId: String, reason: String? = nil) async throws {
        try await core.invite(userId, to: roomId, reason: reason)
    }

    /// The same for a program that tells its user, and may end then: the keys have gone out.
    ///
    /// - Returns: Why the keys could not be given; nil if they were, or there are none to give.
    package func inviteGivingKeys(_ userId: String) async throws -> (any Error)? {
        try await core.invite(userId, to: roomId, waits: true)
    }

    /// Removes a user, who may come back.
    public func kickUser(_ userId: String, reason: String? = nil) async throws {
        try await core.rest.kickUser(userId, fromRoom: roomId, reason: reason)
    }

    /// Removes a user, who may not come back.
    public func banUser(_ userId: String, reason: String? = nil) async throws {
        try await core.rest.banUser(userId, fromRoom: roomId, reason: reason)
    }

    /// Lets a user come back.
    public func unbanUser(_ userId: String, reason: String? = nil) async throws {
        try await core.rest.unbanUser(userId, fromRoom: roomId, reason: reason)
    }

    /// Gives the room a name.
    public func setName(_ name: String) async throws { try await core.rest.setRoomName(name, ofRoom: roomId) }

    /// Encrypts what is said in the room from now on. That cannot be undone.
    ///
    /// - Throws: What the server says if this user may not.
    public func enableEncryption() async throws {
        try await core.rest.sendStateEvent(
            toRoom: roomId, eventType: .roomEncryption, content: EncodedJSON(["algorithm": "m.megolm.v1.aes-sha2"]),
            stateKey: "")
        try? core.noteEncryption(of: roomId)  // the room is encrypted, whatever becomes of the store
    }

    /// Says what the room is about.
    public func setTopic(_ topic: String) async throws { try await core.rest.setRoomTopic(topic, ofRoom: roomId) }
}
