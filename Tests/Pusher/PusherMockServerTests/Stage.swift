import Basics
import PusherProtocol
import TestSupport
import Testing

@testable import PusherMockServer

/// An application without sockets and clock. Each call returns its results, one line for each recipient: `1.1 {frame}`,
/// `1.1 close 4009`, `webhook {event}`.
struct Stage {
    private(set) var application: ApplicationState
    /// Seconds since the start.
    var time = 0.0

    init(_ app: PusherMockServer.App = .init(), profile: PusherMockServer.Profile = .vendor) {
        application = ApplicationState(app: app, profile: profile)
    }

    private var now: MonotonicInstant { .at(time) }

    private mutating func perform(_ body: (inout ApplicationState, MonotonicInstant) -> Void) -> [String] {
        body(&application, now)
        return application.takeActions().flatMap { action -> [String] in
            switch action {
            case .send(let frame, let recipients): recipients.map(\.string).sorted().map { "\($0) \(frame)" }
            case .close(let socketID, let code, _): ["\(socketID) close \(code)"]
            case .tell(let event): ["webhook \(event.json)"]
            case .log: []
            }
        }
    }

    @discardableResult
    mutating func connect(_ id: String) throws -> [String] {
        let socketID = try #require(SocketID(id))
        return perform { $0.connectionOpened(socketID, now: $1) }
    }

    mutating func disconnect(_ id: String) throws -> [String] {
        let socketID = try #require(SocketID(id))
        return perform { $0.connectionClosed(socketID, now: $1) }
    }

    mutating func receive(_ text: String, from id: String) throws -> [String] {
        let socketID = try #require(SocketID(id))
        return perform { $0.received(text, from: socketID, now: $1) }
    }

    /// Subscribes, with a signature if the channel needs it.
    @discardableResult
    mutating func subscribe(_ id: String, to channel: String, channelData: String? = nil) throws -> [String] {
        let socketID = try #require(SocketID(id))
        let name = try ChannelName(channel, as: application.profile)
        var data = #""channel":"\#(channel)""#
        if name.needsAuthorization {
            let auth = application.credentials.channelAuth(socketID: socketID, channel: name, channelData: channelData)
            data += #","auth":"\#(auth)""#
        }
        if let channelData { data += #","channel_data":\#(JSONText.quoted(channelData))"# }
        return try receive(#"{"event":"pusher:subscribe","data":{\#(data)}}"#, from: id)
    }

    mutating func unsubscribe(_ id: String, from channel: String) throws -> [String] {
        try receive(#"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#, from: id)
    }

    @discardableResult
    mutating func signIn(_ id: String, _ userData: String, auth: String? = nil) throws -> [String] {
        let socketID = try #require(SocketID(id))
        let auth = auth ?? application.credentials.userAuth(socketID: socketID, userData: userData)
        return try receive(
            #"{"event":"pusher:signin","data":{"auth":"\#(auth)","user_data":\#(JSONText.quoted(userData))}}"#, from: id
        )
    }

    @discardableResult
    mutating func publish(_ event: String, on channel: String, _ data: String = "") -> [String] {
        perform { $0.publish(Publication(event: event, channel: channel, data: data), now: $1) }
    }

    mutating func terminateConnections(of user: String) -> [String] {
        perform { application, _ in application.terminateConnections(of: user) }
    }

    /// Advances to the application's next deadline; returns `nil` if there is none.
    mutating func nextDeadline() -> [String]? {
        guard let deadline = application.nextDeadline else { return nil }
        time = (deadline - .start) / .seconds(1)
        return perform { $0.deadlinePassed(now: $1) }
    }
}
