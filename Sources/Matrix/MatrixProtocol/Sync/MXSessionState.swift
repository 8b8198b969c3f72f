/// The state of a session.
@nonexhaustive
public enum MXSessionState: Int, Sendable, Hashable, CustomStringConvertible {
    /// The session is closed for good.
    case closed
    /// The session was created but not started.
    case initialised
    /// The stored data can be read, without a network.
    case storeDataReady
    /// Never used here: no other process syncs for a session.
    case processingBackgroundSyncCache
    /// The first sync since the start or resumption is in progress.
    case syncInProgress
    /// A single sync is in progress while the session is paused.
    case backgroundSyncInProgress
    /// The session is up to date and waits for events.
    case running
    /// The homeserver could not be reached. The session keeps retrying.
    case homeserverNotReachable
    /// The homeserver answered with an error. The session keeps retrying, unless the server refused the login.
    case syncError
    case paused
    /// The session pauses as soon as it is no longer needed.
    case pauseRequested
    /// The very first sync failed.
    case initialSyncFailed

    /// The name of the case.
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
