import Basics
import PusherProtocol

extension PusherMockServer {
    /// What the server knows at one moment. Cheap to make; lists are built when asked for.
    public struct State: Sendable {
        let applications: [ApplicationState]
        let log: [LogEntry]
        /// TCP connections of any kind, HTTP included.
        public let tcpConnectionCount: Int
        /// Requests to the auth endpoints, whatever they were answered.
        public let authRequestCount: Int

        /// Connections that got their socket id, over all applications.
        public var connectionCount: Int { applications.reduce(0) { $0 + $1.connections.count } }

        /// The same, one by one, in no order.
        public var connections: [Connection] {
            applications.flatMap { application in
                application.connections.map { socketID, connection in
                    Connection(
                        socketID: socketID.string, app: application.app.key,
                        channels: Set(connection.channels.map(\.string)),
                        user: connection.user?.id)
                }
            }
        }

        /// The newest log entries, oldest first.
        public var history: [LogEntry] { Array(log) }

        /// Names of the occupied channels, sorted.
        ///
        /// - Parameter app: key of the application; nil is the first one. The same everywhere below.
        public func channels(app: String? = nil) -> [String] {
            application(app)?.channels.keys.map(\.string).sorted() ?? []
        }

        /// Socket ids of the connections subscribed to `channel`.
        public func subscribers(of channel: String, app: String? = nil) -> Set<String> {
            Set(application(app)?.channels[channel]?.subscribers.keys.map(\.string) ?? [])
        }

        /// User ids of the members of a presence channel, in order of joining.
        public func users(of channel: String, app: String? = nil) -> [String] {
            application(app)?.channels[channel]?.userIDs ?? []
        }

        private func application(_ key: String?) -> ApplicationState? {
            key == nil ? applications.first : applications.first { $0.app.key == key }
        }
    }

    /// One established connection.
    public struct Connection: Hashable, Sendable {
        /// As the server gave it to the client.
        public let socketID: String
        /// Key of the application.
        public let app: String
        /// Names of the channels that it is subscribed to.
        public let channels: Set<String>
        /// Id of the user that it is signed in as; nil if it is not.
        public let user: String?
    }
}
