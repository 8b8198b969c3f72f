/// What a session is doing.
@nonexhaustive
public enum MXSessionState: Int, Sendable, Hashable, CustomStringConvertible {
    /// It is over: nothing more comes of it.
    case closed
    /// It was made, and has not begun.
    case initialised
    /// What the store holds can be read, without a network.
    case storeDataReady
    /// Never here: no other process syncs for a session.
    case processingBackgroundSyncCache
    /// The first sync since the start, or since it was resumed, is under way.
    case syncInProgress
    /// One sync is under way while paused.
    case backgroundSyncInProgress
    /// It is up to date, and waits for what comes.
    case running
    /// The homeserver could not be reached; it is tried again.
    case homeserverNotReachable
    /// The homeserver answered with an error. It is tried again, unless it refused the login.
    case syncError
    case paused
    /// It will pause when nobody needs it to run any more.
    case pauseRequested
    /// The first sync of all failed.
    case initialSyncFailed

    /// The case's name.
    public var description: String {
        switch self {
        case .closed: "closed"
        case .initialised: "initialised"
        case .storeDataReady: "storeDataReady"
        case .processingBackgroundSyncCache: "processingBackgroundSyncCache"
        case .syncInProgress: "syncInProgress"
        case .backgroundSyncInProgress: "backgroundSyncInProgress"
        case .running: "running"
        case .homeserverNotReachable: "homeserverNotReachable"
        case .syncError: "syncError"
        case .paused: "paused"
        case .pauseRequested: "pauseRequested"
        case .initialSyncFailed: "initialSyncFailed"
        }
    }
}
