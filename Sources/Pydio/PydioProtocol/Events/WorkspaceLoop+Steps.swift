package import Realtime

extension WorkspaceLoop {
    /// One thing to be asked of the server.
    package enum Step: Hashable, Sendable {
        /// Whether the workspace is there, and how the server tells of changes.
        case discover
        case register
        case consume(WorkspaceModel.Purpose)
        /// The same for the last time: the WebSocket takes over.
        case consumeLast
        case list(Listing)
        /// - Parameter isFlattened: Whether the net effect on each node is enough.
        case readChanges(isFlattened: Bool)
    }

    /// What a listing is for.
    package enum Listing: Hashable, Sendable {
        /// To begin with.
        case base
        /// To find out what was missed.
        case compare(Loss)
    }

    /// Whether messages were lost.
    package enum Loss: Hashable, Sendable {
        /// Nothing says so.
        case unlikely
        /// Something may have been: a request that empties the mailbox was not answered, or the mailbox is another.
        case suspected
        case certain
    }

    package enum Outcome: Hashable, Sendable {
        case discovered(WorkspaceServices)
        case registered
        /// - Parameters:
        ///   - isWoken: Whether nodes have changed, or more messages wait.
        ///   - isStale: Whether workspaces or rights have changed.
        ///   - isSuspect: Whether the session is another than the last time, so that the mailbox may be, too.
        case consumed(isWoken: Bool, isStale: Bool, isSuspect: Bool)
        case listed
        /// - Parameter isReset: Whether the log has begun anew.
        case changesRead(isReset: Bool)
    }

    package enum Problem: Hashable, Sendable {
        /// The server could not be reached, or its answer was cut.
        case unreachable
        case timedOut
        /// It answered with an error, or with something else.
        case refused
        /// It keeps no log of changes that can be read.
        case withoutFeed
        /// It does not accept the login.
        case unauthenticated
        /// There is no such workspace, or no such server.
        case unusable
        /// Nothing on this server tells of changes.
        case silent
    }

    package enum Action: Hashable, Sendable {
        case perform(Step, number: Int)
        case cancelStep
        case openSocket(ConnectionMachine.TransportID, WorkspaceServices.WebSocket)
        case pingSocket(ConnectionMachine.TransportID)
        case dropSocket(ConnectionMachine.TransportID)
        /// While it is true nothing is read from it.
        case pauseSocket(Bool)
        case socketTakesOver
        case socketHandsBack
        case changed(from: ConnectionState, to: ConnectionState)
        /// - Parameter retryAfter: Nil: it is not tried again.
        case failed(Problem, retryAfter: Duration?)
        /// Polls take its place.
        case socketFailed(retryAfter: Duration?)
        /// Nothing has been asked for long, since somebody takes events too slowly.
        case held(message: String)
        /// That has ended.
        case resumed(message: String, after: Duration)
    }
}
