import Basics
import PusherProtocol

extension PusherMockServer {
    /// A snapshot of the server's state. Cheap to create; lists are built on demand.
    public struct State: Sendable {
        let applications: [ApplicationState]
        let log: [LogEntry]
        /// The number of TCP connections of any kind, including HTTP.
        public let tcpConnectionCount: Int
        /// The number of requests to the auth endpoints, regardless of their answers.
        public let authRequestCount: Int

        /// The number of connections with a socket id, over all applications.
        public var connectionCount: Int { applications.reduce(0) { $0 + $1.connections.count } }

        /// The connections with a socket id, in no particular order.
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

        /// Returns the names of the occupied channels, sorted.
        ///
        /// - Parameter app: the key of the application; `nil` means the first one. The same applies to the methods
        ///   below.
        public func channels(app: String? = nil) -> [String] {
            application(app)?.channels.keys.map(\.string).sorted() ?? []
        }

        /// Returns the socket ids of the connections subscribed to `channel`.
        public func subscribers(of channel: String, app: String? = nil) -> Set<String> {
            Set(application(app)?.channels[channel]?.subscribers.keys.map(\.string) ?? [])
        }

        /// Returns the user ids of the members of a presence channel, in order of joining.
        public func users(of channel: String, app: String? = nil) -> [String] {
            application(app)?.channels[channel]?.userIDs ?? []
        }

        private func application(_ key: String?) -> ApplicationState? {
            key == nil ? applications.first : applications.first { $0.app.key == key }
        }
    }

    /// One established connection.
    public struct Connection: Hashable, Sendable {
        /// The id that the server sent to the client.
        public let socketID: String
        /// The key of the application.
        public let app: String
        /// The names of the channels that it is subscribed to.
        public let channels: Set<String>
        /// The id of the user that it is signed in as; `nil` if it is not signed in.
        public let user: String?
    }
}
