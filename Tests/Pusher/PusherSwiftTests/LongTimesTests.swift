import FoundationNetworking
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// Durations of any value are accepted. Infinite and extremely long ones mean never; invalid ones change nothing.
@Suite(.overSockets)
struct LongTimesTests {
    private static let never = Double.infinity
    private let recorder = Recorder()

    @Test(
        arguments: [
            (Double.infinity, never), (1e300, never), (1e19, never), (.nan, 120), (-.infinity, 0.001), (-1, 0.001),
            (0.5, 0.5),
        ] as [(Double, Double)])
    func anActivityTimeout(given: Double, holds: Double) async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) { $0.activityTimeout = given }
            #expect(pusher.connection.activityTimeoutInterval == holds)
            pusher.connect()
            #expect(await recorder.waitFor("→ connected"))
            pusher.disconnect()
        }
    }

    @Test(
        arguments: [
            (Double.infinity, never), (1e300, never), (.nan, 7), (-.infinity, 0.001), (-1, 0.001), (0.5, 0.5),
        ] as [(Double, Double)])
    func theSettersOfAConnection(given: Double, holds: Double) async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            (pusher.connection.activityTimeoutInterval, pusher.connection.pongResponseTimeoutInterval) = (7, 7)
            pusher.connection.activityTimeoutInterval = given
            pusher.connection.pongResponseTimeoutInterval = given
            #expect(pusher.connection.activityTimeoutInterval == holds)
            #expect(pusher.connection.pongResponseTimeoutInterval == holds)
            pusher.connect()
            #expect(await recorder.waitFor("→ connected"))
            pusher.disconnect()
        }
    }

    @Test(
        arguments: [
            (nil, nil), (.infinity, nil), (1e300, nil), (.nan, 7), (-.infinity, 0), (-1, 0), (0, 0), (0.5, 0.5),
        ] as [(Double?, Double?)])
    func theLongestGapBeforeARetry(seconds: Double?, holds: Double?) async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            pusher.connection.maxReconnectGapInSeconds = 7
            pusher.connection.maxReconnectGapInSeconds = seconds
            #expect(pusher.connection.maxReconnectGapInSeconds == holds)
            pusher.connect()
            #expect(await recorder.waitFor("→ connected"))
            let socketID = try #require(pusher.connection.socketId)
            try await server.inject(.dropTCP, into: socketID)
            #expect(await recorder.waitFor("→ reconnecting"))
            pusher.disconnect()
        }
    }

    /// Each option through the whole life of a client: connecting, authorizing, losing the connection, reconnecting.
    @Test(arguments: [Duration.seconds(1e20), .seconds(Int64.max), .seconds(-1e20), .seconds(-1), .zero])
    func everyOptionThatIsATime(given: Duration) async throws {
        try await withServer { server in
            for option in [
                \PusherClientOptions.pongTimeout, \.connectTimeout, \.authTimeout, \.authRetryDelay,
                \.subscriptionTimeout, \.reconnectPolicy.maximumDelay,
            ] as [WritableKeyPath<PusherClientOptions, Duration> & Sendable] {
                let recorder = Recorder()
                await server.failAuth(.respond(status: 503, body: ""), next: 1)
                let pusher = Pusher.make(server, recorder) {
                    $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(server.port)/pusher/auth")
                    $0.authRetryDelay = .milliseconds(1)
                    $0[keyPath: option] = given
                }
                pusher.subscribe("private-a")
                pusher.connect()
                #expect(await eventually { !recorder.all.isEmpty })
                if let socketID = pusher.connection.socketId { try? await server.inject(.dropTCP, into: socketID) }
                pusher.disconnect()
                #expect(await eventually { pusher.connection.connectionState == .disconnected })
                await server.clearFaults()
            }
        }
    }

    @Test(arguments: [Duration.seconds(1e20), .seconds(Int64.max), .seconds(1e12), .seconds(-1e20)])
    func theBaseOfAPolicy(base: Duration) async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.reconnectPolicy = .exponential(base: base, maximumDelay: base)
            }
            pusher.connect()
            #expect(await recorder.waitFor("→ connected"))
            try await server.inject(.dropTCP, into: try #require(pusher.connection.socketId))
            #expect(await recorder.waitFor("error "))  // its text contains the delay
            pusher.disconnect()
        }
    }

    private struct Builder: AuthRequestBuilderProtocol {
        let url: String
        let timeoutInterval: Double

        func requestFor(socketID: String, channelName: String) -> URLRequest? {
            guard let url = URL(string: url) else { return nil }
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.httpBody = Data("socket_id=\(socketID)&channel_name=\(channelName)".utf8)
            request.timeoutInterval = timeoutInterval
            return request
        }
    }

    /// Many programs use `request.timeoutInterval = .infinity` for "no limit".
    @Test(arguments: [Double.infinity, 1e300, .nan, -.infinity, -1, 0, 60])
    func theTimeOutOfARequestForAuthorization(seconds: Double) async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .authRequestBuilder(
                    authRequestBuilder: Builder(
                        url: "http://127.0.0.1:\(server.port)/pusher/auth", timeoutInterval: seconds))
            }
            pusher.subscribe("private-a")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed private-a"))
            pusher.disconnect()
        }
    }

    private final class Gaps: RealtimeEventSource {
        let channelPrefix = "matrix:"
        let gap: SourceGap
        init(_ gap: SourceGap) { self.gap = gap }
        func attach(_ sink: any RealtimeEventSink) { sink.receive(gap) }
        func detach(_ sink: any RealtimeEventSink) {}
        func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) {}
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan, 1e300, -1e300])
    func theDatesOfAGap(seconds: Double) async throws {
        let pusher = Pusher(key: "key")
        let gaps = pusher.gaps
        let date = Date(timeIntervalSince1970: seconds)
        pusher.attach(Gaps(SourceGap(channelName: "matrix:!r:hs", start: date, end: date)))
        for await gap in gaps {
            #expect(gap.channelName == "matrix:!r:hs")
            break
        }
    }
}
