public import MatrixSDK

/// A user to invite.
@nonexhaustive
public enum MXRoomInvitee: Sendable, Hashable {
    case userId(String)
}

/// Callback variants: membership of the room.
extension MXRoom {
    /// `join()` with a callback.
    @discardableResult
    public func join(completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        rest.operation(completion) { try await self.join() }
    }

    /// `leave(reason:)` with a callback.
    @discardableResult
    public func leave(completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        rest.operation(completion) { try await self.leave() }
    }

    /// `invite(_:reason:)` with a callback.
    @discardableResult
    public func invite(_ userId: String, completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        rest.operation(completion) { try await self.invite(userId) }
    }

    /// `invite(_:reason:)` with a callback.
    @discardableResult
    public func invite(_ invitee: MXRoomInvitee, completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        switch invitee {
        case .userId(let userId): invite(userId, completion: completion)
        }
    }

    /// `kickUser(_:reason:)` with a callback.
    @discardableResult
    public func kickUser(
        _ userId: String, reason: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.kickUser(userId, reason: reason) }
    }

    /// `banUser(_:reason:)` with a callback.
    @discardableResult
    public func banUser(
        _ userId: String, reason: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.banUser(userId, reason: reason) }
    }

    /// `unbanUser(_:reason:)` with a callback.
    @discardableResult
    public func unbanUser(_ userId: String, completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        rest.operation(completion) { try await self.unbanUser(userId) }
    }
}
