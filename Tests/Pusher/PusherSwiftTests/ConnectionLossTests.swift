import Basics
import PusherMockServer
import PusherProtocol
import PusherProtocolTestSupport
import PusherSwift
import PusherTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// Connections that are lost and restored as the application wants.
struct ConnectionLossTests {
    private let recorder = Recorder()

    /// Returns a client connected to `server` and subscribed to `c`.
    private func makeSubscribed(
        _ server: PusherMockServer, _ change: (inout PusherClientOptions) -> Void = { _ in }
    ) async -> Pusher {
        let pusher = Pusher.make(server, recorder, change)
        pusher.subscribe("c")
        pusher.connect()
        #expect(await recorder.waitFor("subscribed c"))
        return pusher
    }

    @Test(.overSockets, .regression("A socket was used again after it had failed."))
    func everyAttemptHasAFreshSocket() async throws {
        try await withServer { server in
            await server.failHandshakes(.close(code: 4200, reason: ""), next: 1)
            await server.failHandshakes(.httpStatus(503), next: 1)
            await server.failHandshakes(.refuseConnection, next: 1)
            await server.failHandshakes(.text("nonsense"), next: 1)
            let pusher = await makeSubscribed(server)
            #expect(recorder.count("error") == 4)
            #expect(await server.waitFor { $0.tcpConnectionCount == 1 })
            pusher.disconnect()
        }
    }

    @Test(
        .overSockets, .regression("After some read errors the client stayed connected to nothing."),
        arguments: [
            [.dropTCP], [.resetTCP], [.close(code: nil)], [.bytes([0xFF, 0xFF])],
            [.bytes([0x81, 0x05, 0x61]), .dropTCP],
        ] as [[PusherMockServer.ConnectionFault]])
    func anyReadErrorIsADisconnect(faults: [PusherMockServer.ConnectionFault]) async throws {
        try await withServer { server in
            let pusher = await makeSubscribed(server)
            let id = try #require(pusher.connection.socketId)
            for fault in faults { try await server.inject(fault, into: id) }
            #expect(await recorder.waitFor("subscribed c", count: 2))
            #expect(recorder.count("connected → reconnecting") == 1)
            #expect(recorder.count("error") == 1)
        }
    }

    @Test(.overSockets, .regression("After many drops the client stayed away for good."))
    func aHundredRandomDropsEndConnected() async throws {
        try await withServer { server in
            let pusher = await makeSubscribed(server) {
                $0.reconnectPolicy = .exponential(base: .milliseconds(1), maximumDelay: .milliseconds(5))
            }
            var random = JitterGenerator(seed: 100)
            let faults: [PusherMockServer.ConnectionFault] = [
                .dropTCP, .resetTCP, .close(code: 1001), .close(code: 4200), .close(code: nil), .bytes([0xFF, 0xFF]),
            ]
            for number in 1...100 {
                if Bool.random(using: &random) { await server.failHandshakes(.refuseConnection, next: 1) }
                let id = try #require(pusher.connection.socketId)
                try await server.inject(try #require(faults.randomElement(using: &random)), into: id)
                #expect(await recorder.waitFor("subscribed c", count: number + 1))
            }
            #expect(pusher.connection.connectionState == .connected)
            #expect(await server.waitFor { $0.connectionCount == 1 && $0.tcpConnectionCount == 1 })
        }
    }

    @Test(.overSockets, .regression("A pong that came too late left two sockets."))
    func aPongTimeOutLeavesExactlyOneSocket() async throws {
        try await withServer { server in
            let pusher = await makeSubscribed(server) {
                $0.activityTimeout = 0.1
                $0.pongTimeout = .milliseconds(100)
            }
            let id = try #require(pusher.connection.socketId)
            try await server.inject(.goSilent, into: id)
            #expect(await recorder.waitFor("subscribed c", count: 2))
            #expect(await server.waitFor { $0.connectionCount == 1 && $0.tcpConnectionCount == 1 })
        }
    }

    @Test(.overSockets, .regression("A second connect() opened a second socket."))
    func connectingTwiceOpensOnce() async throws {
        var client = ClientScript()
        for _ in 0..<3 { client.machine.connect(now: client.now) }
        #expect(client.take() == ["open 1 wss", "disconnected → connecting"])
        client.establish(socketID: "1.1")
        client.machine.connect(now: client.now)
        #expect(client.take() == ["connecting → connected"])

        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            for _ in 0..<20 { pusher.connect() }
            #expect(await recorder.waitFor("connecting → connected"))
            pusher.connect()
            #expect(await server.waitFor { $0.tcpConnectionCount == 1 && $0.connectionCount == 1 })
            #expect(recorder.all == ["disconnected → connecting", "connecting → connected"])
        }
    }

    @Test(.overSockets, .regression("connect() in a state callback did nothing, or saw the old state."))
    func connectFromInsideAStateCallbackWorksAndSeesTheNewState() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let delegate = StateDelegate { [weak pusher, recorder] new in
                guard let connection = pusher?.connection else { return }
                recorder.add("\(new): is \(connection.connectionState)")
                guard new == .disconnected, recorder.count("disconnected: ") == 1 else { return }
                connection.connect()
                recorder.add("then \(connection.connectionState)")
            }
            pusher.delegate = delegate
            pusher.connect()
            #expect(await recorder.waitFor("connected: is connected"))
            pusher.disconnect()
            #expect(await recorder.waitFor("connected: is connected", count: 2))
            #expect(recorder.contains("disconnected: is disconnected"))
            #expect(recorder.contains("then connecting"))
            #expect(await server.waitFor { $0.tcpConnectionCount == 1 })
        }
    }

    @Test(.overSockets, .regression("An attempt under way connected after disconnect()."))
    func disconnectCancelsARunningAttempt() async throws {
        try await withServer { server in
            await server.failHandshakes(.never)
            let pusher = Pusher.make(server, recorder)
            pusher.connect()
            #expect(await eventually { await server.state.tcpConnectionCount == 1 })
            pusher.disconnect()
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
            #expect(await recorder.waitFor("connecting → disconnected"))
            #expect(!recorder.contains("error"))
        }
    }

    @Test(.overSockets, .regression("The options activityTimeout and pongTimeout had no effect."))
    func theOptionsActivityTimeoutAndPongTimeoutAreEffective() async throws {
        var client = ClientScript.connected {
            $0.connection.activityTimeout = .seconds(7)
            $0.connection.pongTimeout = .seconds(3)
        }
        client.pass(.milliseconds(6999))
        #expect(client.take() == [])
        client.pass(.milliseconds(1))
        #expect(client.take() == ["send ping"])
        client.pass(.seconds(3))
        #expect(client.take().first == "drop 1")

        try await withServer { server in
            let pusher = await makeSubscribed(server) {
                $0.activityTimeout = 0.05
                $0.pongTimeout = .seconds(5)  // a busy machine answers late
            }
            #expect(await server.waitFor { $0.framesReceived(containing: "pusher:ping") >= 2 })
            #expect(pusher.connection.connectionState == .connected)
            let id = try #require(pusher.connection.socketId)
            try await server.inject(.goSilent, into: id)
            #expect(await recorder.waitFor("did not answer a ping in time", within: .seconds(20)))
        }
    }
}

private final class StateDelegate: PusherDelegate {
    private let onChange: @Sendable (ConnectionState) -> Void

    init(_ onChange: @escaping @Sendable (ConnectionState) -> Void) {
        self.onChange = onChange
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) { onChange(new) }
}
