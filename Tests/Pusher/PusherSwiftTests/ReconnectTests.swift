import Basics
import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct ReconnectTests {
    private let recorder = Recorder()

    /// Returns a client connected to `server` and subscribed to `c`.
    private func makeSubscribed(
        _ server: PusherMockServer, _ change: (inout PusherClientOptions) -> Void = { _ in }
    ) async -> Pusher {
        let pusher = Pusher.make(server, recorder, change)
        pusher.subscribe("c").bind(eventName: "e") { [recorder] event in recorder.add("event \(event.data ?? "")") }
        pusher.connect()
        #expect(await recorder.waitFor("subscribed"))
        return pusher
    }

    @Test func aRestartOfTheServerNeedsNothingToBeDone() async throws {
        let server = try await PusherMockServer.start()
        let pusher = await makeSubscribed(server)
        await server.stop()
        #expect(await recorder.waitFor("connected → reconnecting"))
        #expect(await recorder.waitFor("error cannot connect to 127.0.0.1"))
        let second = try await PusherMockServer.start(server.configuration)
        #expect(await recorder.waitFor("subscribed c", count: 2))
        await second.publish(event: "e", channel: "c", data: "back")
        #expect(await recorder.waitFor("event back"))
        pusher.disconnect()
        #expect(await recorder.waitFor("disconnecting → disconnected"))
        #expect(await second.waitFor { $0.tcpConnectionCount == 0 })
        await second.stop()
    }

    @Test func aHundredDropsEndConnected() async throws {
        try await withServer { server in
            let pusher = await makeSubscribed(server) {
                $0.reconnectPolicy = .exponential(base: .milliseconds(1), maximumDelay: .milliseconds(5))
            }
            for number in 1...100 {
                let fault: PusherMockServer.ConnectionFault =
                    switch number % 4 {
                    case 0: .dropTCP
                    case 1: .resetTCP
                    case 2: .close(code: 1001)
                    default: .close(code: nil)
                    }
                let id = try #require(pusher.connection.socketId)
                try await server.inject(fault, into: id)
                #expect(await recorder.waitFor("subscribed c", count: number + 1))
            }
            #expect(pusher.connection.connectionState == .connected)
            #expect(await server.waitFor { $0.connectionCount == 1 && $0.tcpConnectionCount == 1 })
        }
    }

    @Test(arguments: [4001, 4002, 4009, 4050, 4300])
    func refusalsForGoodAreNotRetried(code: Int) async throws {
        try await withServer { server in
            let pusher = await makeSubscribed(server)
            let id = try #require(pusher.connection.socketId)
            try await server.inject(.close(code: code, reason: "go"), into: id)
            #expect(await recorder.waitFor("connected → disconnected"))
            #expect(recorder.count("(code \(code))") == 1)
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
        }
    }

    @Test func aWrongKeyIsExplainedAndNotRetried() async throws {
        try await withServer { server in
            let pusher = Pusher(key: "wrong", options: .local(server))
            pusher.delegate = recorder
            pusher.connect()
            #expect(await recorder.waitFor("connecting → disconnected"))
            #expect(recorder.count("error") == 1)
            #expect(recorder.contains("the application does not exist: wrong key or wrong cluster"))
            #expect(recorder.contains("(code 4001)"))
        }
    }

    @Test func aSilentServerIsNoticedAndLeft() async throws {
        try await withServer { server in
            let pusher = await makeSubscribed(server) {
                $0.activityTimeout = 0.1
                $0.pongTimeout = .milliseconds(200)
            }
            let id = try #require(pusher.connection.socketId)
            try await server.inject(.goSilent, into: id)
            #expect(await recorder.waitFor("did not answer a ping in time"))
            #expect(await recorder.waitFor("subscribed c", count: 2))
            #expect(await server.waitFor { $0.connectionCount == 1 && $0.tcpConnectionCount == 1 })
        }
    }

    @Test func aServerThatPingsIsAnswered() async throws {
        let app = PusherMockServer.App(pingAfter: .milliseconds(50), pongTimeout: .seconds(60))
        try await withServer(.init(apps: [app])) { server in
            let pusher = await makeSubscribed(server)
            #expect(await server.waitFor { $0.framesReceived(containing: "pusher:pong") + $0.pongCount >= 3 })
            #expect(pusher.connection.connectionState == .connected)
            #expect(!recorder.contains("error"))
        }
    }

    @Test func anUnansweredHandshakeTimesOutAndIsRetried() async throws {
        try await withServer { server in
            // On a busy machine, an attempt may end before the server answers; the next one then shows it.
            await server.failHandshakes(.never)
            let pusher = Pusher.make(server, recorder) { $0.connectTimeout = .milliseconds(200) }
            pusher.connect()
            #expect(await recorder.waitFor("did not start the Pusher protocol in time"))
            await server.clearFaults()
            #expect(await recorder.waitFor("connecting → connected"))
            pusher.disconnect()
        }
    }

    @Test(
        arguments: [
            (.refuseConnection, "127.0.0.1"), (.httpStatus(401), "401 Unauthorized"),
            (.httpStatus(404), "404 Not Found"),
            (.httpStatus(502), "502 Bad Gateway"), (.refuse(code: 4200, message: "again"), "(code 4200)"),
            (.close(code: 4200, reason: ""), "(code 4200)"), (.text("hello"), "it is not JSON"),
        ] as [(PusherMockServer.HandshakeFault, String)])
    func aFailedHandshakeIsReportedAndRetried(fault: PusherMockServer.HandshakeFault, text: String) async throws {
        try await withServer { server in
            await server.failHandshakes(fault, next: 1)
            let pusher = Pusher.make(server, recorder)
            pusher.connect()
            #expect(await recorder.waitFor("connecting → connected"))
            #expect(recorder.count("error") == 1)
            #expect(recorder.contains(text), "\(recorder.all)")
            #expect(recorder.contains("will retry"))
            pusher.disconnect()
        }
    }

    @Test func attemptsAreLimitedAndTheLastErrorSaysSo() async throws {
        let server = try await PusherMockServer.start()
        await server.stop()
        let pusher = Pusher.make(server, recorder) { $0.reconnectAttemptsMax = 2 }
        pusher.connect()
        #expect(await recorder.waitFor("connecting → disconnected"))
        #expect(recorder.count("error") == 3)
        #expect(recorder.contains("giving up"))
    }

    @Test func connectAndDisconnectAreRightInEveryState() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            for _ in 0..<20 {
                pusher.connect()
                pusher.connect()
                pusher.disconnect()
                pusher.disconnect()
                pusher.connect()
            }
            #expect(await recorder.waitFor("connecting → connected"))
            #expect(await server.waitFor { $0.connectionCount == 1 && $0.tcpConnectionCount == 1 })
            pusher.disconnect()
            #expect(await recorder.waitFor("disconnecting → disconnected"))
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
            #expect(!recorder.contains("error"))
        }
    }

    @Test func connectFromInsideAStateCallbackWorks() async throws {
        try await withServer { server in
            let again = ConnectingDelegate()
            let pusher = Pusher.make(server, recorder)
            again.onDisconnected = { [weak pusher] in
                #expect(pusher?.connection.connectionState == .disconnected)
                pusher?.connect()
            }
            pusher.delegate = again
            pusher.connect()
            #expect(await eventually { pusher.connection.connectionState == .connected })
            pusher.disconnect()
            #expect(await eventually { again.connectedCount == 2 })
        }
    }

    @Test func theServersDelayIsWaitedForBelowTheTimeOut() async throws {
        try await withServer { server in
            await server.failHandshakes(.delay(.milliseconds(300)), next: 1)
            let pusher = await makeSubscribed(server)
            #expect(!recorder.contains("error"))
            pusher.disconnect()
        }
    }
}

final class ConnectingDelegate: PusherDelegate {
    private let state = Lock<(connected: Int, onDisconnected: (@Sendable () -> Void)?)>((0, nil))

    var connectedCount: Int { state.withLock { $0.connected } }

    var onDisconnected: (@Sendable () -> Void)? {
        get { state.withLock { $0.onDisconnected } }
        set { state.withLock { $0.onDisconnected = newValue } }
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        switch new {
        case .connected: state.withLock { $0.connected += 1 }
        case .disconnected: onDisconnected?()
        case .connecting, .disconnecting, .reconnecting: break
        }
    }
}

extension PusherMockServer.State {
    var pongCount: Int { history.count { if case .pongReceived = $0 { true } else { false } } }
}
