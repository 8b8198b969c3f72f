import NIOWebSocket
import PusherMockServer
import TestSupport
import Testing

@Suite(.overSockets)
struct ConnectingTests {
    @Test func handshakeIsEncodedTwice() async throws {
        let server = try await PusherMockServer.start()
        let client = try await TestClient.connect(to: server)
        let text = try #require(await client.text())
        #expect(
            text.wholeMatch(
                of:
                    #/{"event":"pusher:connection_established","data":"{\\"socket_id\\":\\"\d+\.\d+\\",\\"activity_timeout\\":120}"}/#
            ) != nil)
        #expect(await server.state.connectionCount == 1)
        await server.stop()
    }

    @Test(
        arguments: [
            ("/app/app-key", 4008, "No protocol version supplied"),
            ("/app/app-key?protocol=3", 4007, "Unsupported protocol version: 3"),
            ("/app/app-key?protocol=8", 4007, "Unsupported protocol version: 8"),
            ("/app/app-key?protocol=seven", 4007, "Unsupported protocol version: seven"),
            ("/app/app-key?protocol=7&version=abc", 4006, "Invalid version string format"),
            ("/app/app-key?protocol=7&version=", 4006, "Invalid version string format"),
            (
                "/app/nobody?protocol=7", 4001,
                "App key nobody not in this cluster. Did you forget to specify the cluster?"
            ),
            ("/app/off?protocol=7", 4003, "Application disabled"),
            (
                "/app/tls-only?protocol=7", 4000,
                "Application only accepts SSL connections, reconnect using wss://"
            ),
            ("/somewhere?protocol=7", 4005, "Path not found"),
            ("/app/app-key/more?protocol=7", 4005, "Path not found"),
            ("/app/?protocol=7", 4005, "Path not found"),
        ] as [(String, Int, String)])
    func refusalIsAnErrorEventAndACloseCode(path: String, code: Int, message: String) async throws {
        let server = try await PusherMockServer.start(
            .init(
                apps: [
                    .init(), .init(id: "2", key: "off", isEnabled: false),
                    .init(id: "3", key: "tls-only", requiresTLS: true),
                ]))
        let client = try await TestClient.connect(to: server, path: path)
        #expect(
            await client.text()
                == #"{"event":"pusher:error","data":{"code":\#(code),"message":"\#(message)"}}"#)
        #expect(await client.next() == .close(code: code, reason: message))
        #expect(await server.state.connectionCount == 0)
        await server.stop()
    }

    @Test(arguments: ["protocol=4", "protocol=5", "protocol=6", "protocol=7&version=8.4.0-rc1&client=js"])
    func servedVersionsAreEstablished(query: String) async throws {
        let server = try await PusherMockServer.start()
        let client = try await TestClient.connect(to: server, path: "/app/app-key?\(query)")
        #expect(await client.text()?.contains("pusher:connection_established") == true)
        await server.stop()
    }

    @Test func pathPrefixIsServed() async throws {
        let server = try await PusherMockServer.start(.init(pathPrefix: "/ws/v1"))
        let client = try await TestClient.connect(to: server, path: "/ws/v1/app/app-key?protocol=7")
        #expect(await client.text()?.contains("pusher:connection_established") == true)
        let stray = try await TestClient.connect(to: server, path: "/app/app-key?protocol=7")
        #expect(await stray.text()?.contains("4005") == true)
        await server.stop()
    }

    @Test func bothFormsOfPingAreAnswered() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        try await client.send(#"{"event":"pusher:ping","data":{}}"#)
        #expect(await client.text() == #"{"event":"pusher:pong","data":{}}"#)
        try await client.send(.ping, [1, 2, 3])
        #expect(await client.next() == .pong([1, 2, 3]))
        #expect(await server.state.history.contains(.pingReceived(socketID: socketID)))
        await server.stop()
    }

    @Test func silentClientIsPingedThenClosed() async throws {
        let server = try await PusherMockServer.start(
            .init(apps: [.init(pingAfter: .milliseconds(50), pongTimeout: .milliseconds(50))]))
        let (client, _) = try await TestClient.established(to: server)
        #expect(await client.next() == .text(#"{"event":"pusher:ping","data":{}}"#))
        #expect(await client.next() == .close(code: 4201, reason: "Pong reply not received in time"))
        await server.stop()
    }

    @Test func answeringClientIsPingedAgain() async throws {
        let server = try await PusherMockServer.start(
            .init(apps: [.init(pingAfter: .milliseconds(20), pongTimeout: .seconds(60))]))
        let (client, _) = try await TestClient.established(to: server)
        for _ in 0..<3 {
            #expect(await client.next() == .text(#"{"event":"pusher:ping","data":{}}"#))
            try await client.send(#"{"event":"pusher:pong","data":{}}"#)
        }
        #expect(await server.state.connectionCount == 1)
        await server.stop()
    }

    @Test(
        arguments: [
            (.binary, [1], true, true, 1003),
            (.text, [0xFF], true, true, 1007),
            (.text, Array("{}".utf8), true, false, 1002),
            (.continuation, [1], true, true, 1002),
            (.connectionClose, [0x03], true, true, 1002),
            (.connectionClose, [0x03, 0xED], true, true, 1002),
            (.connectionClose, [0x03, 0xE8, 0xFF], true, true, 1007),
            (.text, [UInt8](repeating: 0x20, count: 2000), true, true, 1009),
        ] as [(WebSocketOpcode, [UInt8], Bool, Bool, Int)])
    func wrongFramesCloseTheConnection(
        opcode: WebSocketOpcode, bytes: [UInt8], fin: Bool, masked: Bool, code: Int
    ) async throws {
        let server = try await PusherMockServer.start(.init(maximumMessageSize: 1000))
        let (client, _) = try await TestClient.established(to: server)
        try await client.send(opcode, bytes, fin: fin, masked: masked)
        guard case .close(let seen, _) = await client.next() else {
            Issue.record("no close frame")
            return
        }
        #expect(seen == code)
        try await client.drop()
        #expect(await server.waitFor { $0.connectionCount == 0 && $0.tcpConnectionCount == 0 })
        await server.stop()
    }

    @Test func fragmentsAreJoined() async throws {
        let server = try await PusherMockServer.start()
        let (client, _) = try await TestClient.established(to: server)
        try await client.send(.text, Array(#"{"event":"#.utf8), fin: false)
        try await client.send(.ping, [])
        try await client.send(.continuation, Array(#""pusher:ping"}"#.utf8))
        #expect(await client.next() == .pong([]))
        #expect(await client.text() == #"{"event":"pusher:pong","data":{}}"#)
        await server.stop()
    }

    @Test func closeIsAnsweredWithItsCode() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        try await client.send(.connectionClose, [0x03, 0xE8])
        #expect(await client.rest() == [.close(code: 1000, reason: "")])
        #expect(await server.waitFor { $0.history.contains(.connectionClosed(socketID: socketID, code: 1000)) })
        await server.stop()
    }

    @Test(
        arguments: [
            ("not json", "not a JSON object"), ("[]", "not a JSON object"), ("{", "not a JSON object"),
            ("{}", "no event name"), (#"{"event":1}"#, "no event name"),
            (#"{"event":"pusher:subscribe"}"#, "the data of pusher:subscribe must be an object"),
            (#"{"event":"pusher:subscribe","data":"{}"}"#, "the data of pusher:subscribe must be an object"),
            (#"{"event":"pusher:unsubscribe","data":{}}"#, "pusher:unsubscribe names no channel"),
            (#"{"event":"client-x","data":{}}"#, "client-x names no channel"),
        ])
    func malformedMessageIsAnsweredWithAnError(text: String, message: String) async throws {
        let server = try await PusherMockServer.start()
        let (client, _) = try await TestClient.established(to: server)
        try await client.send(text)
        #expect(
            await client.text()
                == #"{"event":"pusher:error","data":{"code":null,"message":"Malformed message: \#(message)"}}"#)
        try await client.send(#"{"event":"pusher:ping"}"#)
        #expect(await client.text() == #"{"event":"pusher:pong","data":{}}"#)
        await server.stop()
    }

    @Test func unknownEventIsNamed() async throws {
        let server = try await PusherMockServer.start()
        let (client, _) = try await TestClient.established(to: server)
        try await client.send(#"{"event":"pusher:nonsense","data":{}}"#)
        #expect(
            await client.text()
                == #"{"event":"pusher:error","data":{"code":null,"message":"Unsupported event received on socket: pusher:nonsense"}}"#
        )
        await server.stop()
    }
}
