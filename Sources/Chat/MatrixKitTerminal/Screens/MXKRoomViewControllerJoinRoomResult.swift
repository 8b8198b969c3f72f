/// The result of joining a room.
public enum MXKRoomViewControllerJoinRoomResult: UInt, Sendable {
    /// The user has joined the room.
    case success
    /// The room has no members left.
    case failureRoomEmpty
    /// A join is already pending.
    case failureJoinInProgress
    /// The room could not be joined.
    case failureGeneric
}
