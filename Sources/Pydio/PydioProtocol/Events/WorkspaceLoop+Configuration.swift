package import Realtime

extension WorkspaceLoop {
    package struct Configuration: Hashable, Sendable {
        package var connection = ConnectionMachine.Configuration()
        package var socket = ConnectionMachine.Configuration()
        /// The interval between polls; `nil` uses the server's interval.
        package var pollInterval: Duration?
        package var minimumPollInterval = Duration.seconds(2)
        /// The maximum interval between reads of the change log.
        package var feedInterval = Duration.seconds(60)
        /// The time after which an unconsumed mailbox may have expired. Servers keep it for ten minutes.
        package var mailboxLife = Duration.seconds(540)
        /// The shortest delay after an error of the server.
        package var errorDelay = Duration.seconds(5)
        /// The time after which a reader that holds requests is reported.
        package var holdLimit = Duration.seconds(120)
        package var usesFeed = true
        package var usesWebSocket = true

        package init() {
            connection.reconnectPolicy = .exponential(base: .seconds(2), maximumDelay: .seconds(60))
            // Requests have their own timeouts, and silence between them is intended.
            connection.connectTimeout = .seconds(Int(Int32.max))
            connection.activityTimeout = .seconds(Int(Int32.max))
            connection.pongTimeout = .seconds(60)
            socket.reconnectPolicy = .exponential(base: .seconds(10), maximumDelay: .seconds(300))
            socket.activityTimeout = .seconds(30)
            socket.pongTimeout = .seconds(30)
        }
    }
}
