/// How joining a room went.
public enum MXKRoomViewControllerJoinRoomResult: UInt, Sendable {
    /// The user is in it.
    case success
    /// Nobody is left in it.
    case failureRoomEmpty
    /// It is being joined already.
    case failureJoinInProgress
    /// It could not be joined.
    case failureGeneric
}
