package import Realtime

extension WorkspaceLoop {
    package struct Configuration: Hashable, Sendable {
        package var connection = ConnectionMachine.Configuration()
        package var socket = ConnectionMachine.Configuration()
        /// Between polls; nil is as the server says.
        package var pollInterval: Duration?
        package var minimumPollInterval = Duration.seconds(2)
        /// The log of changes is read at least so often.
        package var feedInterval = Duration.seconds(60)
        /// A mailbox that was not consumed for so long may be gone. Servers keep it for ten minutes.
        package var mailboxLife = Duration.seconds(540)
        /// The shortest wait after an error of the server's.
        package var errorDelay = Duration.seconds(5)
        /// A reader for whom nothing is asked for so long is reported.
        package var holdLimit = Duration.seconds(120)
        package var usesFeed = true
        package var usesWebSocket = true

        package init() {
            connection.reconnectPolicy = .exponential(base: .seconds(2), maximumDelay: .seconds(60))
            // Requests have time limits of their own, and silence between them is ours.
            connection.connectTimeout = .seconds(Int(Int32.max))
            connection.activityTimeout = .seconds(Int(Int32.max))
            connection.pongTimeout = .seconds(60)
            socket.reconnectPolicy = .exponential(base: .seconds(10), maximumDelay: .seconds(300))
            socket.activityTimeout = .seconds(30)
            socket.pongTimeout = .seconds(30)
        }
    }
}
