package import Realtime

extension WorkspaceLoop {
    /// One request to the server.
    package enum Step: Hashable, Sendable {
        /// Check that the workspace exists, and how the server reports changes.
        case discover
        case register
        case consume(WorkspaceModel.Purpose)
        /// Consume the mailbox for the last time: the WebSocket takes over.
        case consumeLast
        case list(Listing)
        /// - Parameter isFlattened: Whether the net effect on each node is enough.
        case readChanges(isFlattened: Bool)
    }

    package enum Listing: Hashable, Sendable {
        /// The initial listing.
        case base
        /// To find missed changes.
        case compare(Loss)
    }

    /// Whether messages were lost.
    package enum Loss: Hashable, Sendable {
        /// There is no sign of a loss.
        case unlikely
        /// Messages may have been lost: a request that empties the mailbox was not answered, or the mailbox is a
        /// different one.
        case suspected
        case certain
    }

    package enum Outcome: Hashable, Sendable {
        case discovered(WorkspaceServices)
        case registered
        /// - Parameters:
        ///   - isWoken: Whether nodes have changed, or more messages wait.
        ///   - isStale: Whether workspaces or rights have changed.
        ///   - isSuspect: Whether the session has changed since the last time, so that the mailbox may have changed,
        ///     too.
        case consumed(isWoken: Bool, isStale: Bool, isSuspect: Bool)
        case listed
        /// - Parameter isReset: Whether the log was reset.
        case changesRead(isReset: Bool)
    }

    package enum Problem: Hashable, Sendable {
        /// The server could not be reached, or its answer was cut.
        case unreachable
        case timedOut
        /// The server sent an error, or another unexpected answer.
        case refused
        /// The server has no readable change log.
        case withoutFeed
        /// The server does not accept the login.
        case unauthenticated
        /// The workspace or the server does not exist.
        case unusable
        /// The server doesn't report changes.
        case silent
    }

    package enum Action: Hashable, Sendable {
        case perform(Step, number: Int)
        case cancelStep
        case openSocket(ConnectionMachine.TransportID, WorkspaceServices.WebSocket)
        case pingSocket(ConnectionMachine.TransportID)
        case dropSocket(ConnectionMachine.TransportID)
        /// Pause or resume reading from the WebSocket.
        case pauseSocket(Bool)
        case socketTakesOver
        case socketHandsBack
        case changed(from: ConnectionState, to: ConnectionState)
        /// - Parameter retryAfter: The delay until the retry; `nil` if there is none.
        case failed(Problem, retryAfter: Duration?)
        /// The WebSocket has failed; polls replace it.
        case socketFailed(retryAfter: Duration?)
        /// Requests have been paused for long because a reader is too slow.
        case held(message: String)
        /// The pause has ended.
        case resumed(message: String, after: Duration)
    }
}
