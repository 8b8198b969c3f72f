public import MatrixSDK

/// Callback variants: creating, joining and leaving rooms, and managing their members.
extension MXRestClient {
    /// `createRoom(parameters:)` with a callback.
    @discardableResult
    public func createRoom(
        parameters: MXRoomCreationParameters, completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        let body = parameters.encoded
        return operation(completion) { try await self.createRoom(body: body) }
    }

    /// `joinRoom(_:viaServers:reason:)` with a callback.
    @discardableResult
    public func joinRoom(
        _ roomIdOrAlias: String, viaServers: [String]? = nil, reason: String? = nil,
        completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.joinRoom(roomIdOrAlias, viaServers: viaServers, reason: reason) }
    }

    /// `knockRoom(_:viaServers:reason:)` with a callback.
    @discardableResult
    public func knockRoom(
        _ roomIdOrAlias: String, viaServers: [String]? = nil, reason: String? = nil,
        completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.knockRoom(roomIdOrAlias, viaServers: viaServers, reason: reason) }
    }

    /// `leaveRoom(_:reason:)` with a callback.
    @discardableResult
    public func leaveRoom(_ roomId: String, reason: String? = nil, completion: @escaping (MXResponse<Void>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.leaveRoom(roomId, reason: reason) }
    }

    /// `forgetRoom(_:)` with a callback.
    @discardableResult
    public func forgetRoom(_ roomId: String, completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.forgetRoom(roomId) }
    }

    /// `inviteUser(_:toRoom:reason:)` with a callback.
    @discardableResult
    public func inviteUser(
        _ userId: String, toRoom roomId: String, reason: String? = nil, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.inviteUser(userId, toRoom: roomId, reason: reason) }
    }

    /// `inviteByEmail(_:toRoom:identityServer:identityAccessToken:)` with a callback.
    @discardableResult
    public func inviteByEmail(
        _ address: String, toRoom roomId: String, identityServer: String, identityAccessToken: String,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.inviteByEmail(
                address, toRoom: roomId, identityServer: identityServer, identityAccessToken: identityAccessToken)
        }
    }

    /// `kickUser(_:fromRoom:reason:)` with a callback.
    @discardableResult
    public func kickUser(
        _ userId: String, fromRoom roomId: String, reason: String? = nil,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.kickUser(userId, fromRoom: roomId, reason: reason) }
    }

    /// `banUser(_:fromRoom:reason:)` with a callback.
    @discardableResult
    public func banUser(
        _ userId: String, fromRoom roomId: String, reason: String? = nil,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.banUser(userId, fromRoom: roomId, reason: reason) }
    }

    /// `unbanUser(_:fromRoom:reason:)` with a callback.
    @discardableResult
    public func unbanUser(
        _ userId: String, fromRoom roomId: String, reason: String? = nil,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.unbanUser(userId, fromRoom: roomId, reason: reason) }
    }

    /// `upgradeRoom(_:toVersion:)` with a callback.
    @discardableResult
    public func upgradeRoom(
        _ roomId: String, toVersion version: String, completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.upgradeRoom(roomId, toVersion: version) }
    }

    /// `reportEvent(_:inRoom:reason:score:)` with a callback.
    @discardableResult
    public func reportEvent(
        _ eventId: String, inRoom roomId: String, reason: String?, score: Int? = nil,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.reportEvent(eventId, inRoom: roomId, reason: reason, score: score) }
    }

    /// `spaceHierarchy(ofRoom:suggestedOnly:limit:maxDepth:from:)` with a callback.
    @discardableResult
    public func spaceHierarchy(
        ofRoom roomId: String, suggestedOnly: Bool = false, limit: Int? = nil, maxDepth: Int? = nil,
        from: String? = nil, completion: @escaping (MXResponse<MXSpaceHierarchy>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.spaceHierarchy(
                ofRoom: roomId, suggestedOnly: suggestedOnly, limit: limit, maxDepth: maxDepth, from: from)
        }
    }

    /// `eventId(inRoom:at:direction:)` with a callback.
    @discardableResult
    public func eventId(
        inRoom roomId: String, at timestamp: UInt64, direction: MXTimelineDirection = .forwards,
        completion: @escaping (MXResponse<MXEventAtTime>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.eventId(inRoom: roomId, at: timestamp, direction: direction) }
    }
}
