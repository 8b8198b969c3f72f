import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import Basics
@testable import Transport

@Suite(.overSockets)
struct WebSocketConnectionTests {
    private func message(_ text: String) -> WebSocketMessage { .text(Array(text.utf8)[...]) }

    // MARK: SwiftNIO's server

    @Test func messagesOfAnySizeComeBackPlainAndOverTLS() async throws {
        let authority = try await CertificateAuthority()
        let leaf = try await authority.issue("IP:127.0.0.1")
        for (tls, caFile) in [(nil, nil), (leaf, authority.certificate)] as [(CertificateAuthority.Leaf?, String?)] {
            let server = try await EchoServer(tls: tls)
            let connection = TestConnection(port: server.port, tls: caFile)
            #expect(await connection.waitFor { $0.isOpened })
            let texts = ["a", "", String(repeating: "ü", count: 40_000), String(repeating: "x", count: 3_000_000), "z"]
            for text in texts { connection.send(text) }
            #expect(await connection.waitFor { $0.messages.count == texts.count })
            #expect(connection.now.messages == texts.map(message))
            connection.perform { $0.close(code: 1000, reason: "bye") }
            #expect(await connection.closure() == WebSocketClosure(code: 1000, reason: "bye"))
            #expect(connection.now.closures.count == 1)
            await server.stop()
        }
    }

    @Test(arguments: ["::1", "::1%25lo", "::1%lo"])
    func ipv6IsSpoken(address: String) async throws {
        let server = try await EchoServer(host: "::1")
        let connection = TestConnection(WebSocketRequest(url: "ws://[\(address)]:\(server.port)/"))
        #expect(await connection.waitFor { $0.isOpened })
        connection.perform { $0.drop() }
        await server.stop()
    }

    @Test func whatIsDroppedReportsNothing() async throws {
        let server = try await EchoServer()
        let connection = TestConnection(port: server.port)
        #expect(await connection.waitFor { $0.isOpened })
        connection.perform {
            $0.drop()
            try? $0.send(text: [1])
            $0.close(code: 1000, reason: "")
        }
        let other = TestConnection(port: server.port)  // events of the first would come before this
        #expect(await other.waitFor { $0.isOpened })
        #expect(connection.now.closures.isEmpty)
        other.perform { $0.drop() }
        await server.stop()
    }

    @Test func aThousandConnectionsAtOnceAndNoneCostsAnythingWhenIdle() async throws {
        let server = try await EchoServer()
        let connections = (0..<1000).map { _ in TestConnection(port: server.port) }
        for connection in connections {
            #expect(await connection.waitFor { $0.isOpened || !$0.closures.isEmpty })
            #expect(connection.now.closures == [])
        }
        #expect(await networkThreadRests())
        for connection in connections { connection.send("hello") }
        for connection in connections { #expect(await connection.waitFor { $0.messages.count == 1 }) }
        #expect(connections.allSatisfy { $0.now.messages == [message("hello")] })
        for connection in connections { connection.perform { $0.drop() } }
        await server.stop()
    }

    // MARK: Peers of all kinds

    /// A handshake response and a stream of frames, as a server might send them.
    private static func stream(answering head: String) -> [UInt8] {
        let key = head.components(separatedBy: "Sec-WebSocket-Key: ").last?.prefix(24) ?? ""
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(ClientHandshake.accept(key: String(key)))\r\n\r\n"
        let large = [UInt8](repeating: 0x61, count: 1000)
        return Array(answer.utf8) + [0x81, 3] + Array("one".utf8) + [0x01, 1, 0xE2] + [0x89, 0] + [0x80, 2, 0x98, 0x83]
            + [0x81, 126, 0x03, 0xE8] + large + [0x88, 2, 0x03, 0xE9]
    }

    @Test(arguments: [1, 3, 100_000])
    func anyDeliveryOfAStreamGivesTheSame(size: Int) async throws {
        let server = SocketServer { peer in
            let bytes = Self.stream(answering: peer.readHead())
            for start in stride(from: 0, to: bytes.count, by: size) {
                peer.write(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            while !peer.read().isEmpty {}
        }
        let connection = TestConnection(port: server.port)
        #expect(await connection.closure() == WebSocketClosure(code: 1001))
        #expect(
            connection.now.messages == [message("one"), message("☃"), message(String(repeating: "a", count: 1000))])
    }

    @Test(
        arguments: [
            ("HTTP/1.1 401 Unauthorized\r\n\r\n", .handshakeRefused(status: 401)),
            ("HTTP/1.1 502 Bad Gateway\r\n\r\n", .handshakeRefused(status: 502)),
            ("HTTP/1.1 200 OK\r\n\r\n", .notWebSocket), ("220 mail ESMTP\r\n", .notWebSocket),
            ("", .connectionLost),
        ] as [(String, TransportError.Code)])
    func peersThatAreNoWebSocketServersAreTold(answer: String, code: TransportError.Code) async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write(answer)
        }
        let error = await TestConnection(port: server.port).closure()?.error
        #expect(error?.code == code)
        #expect(error?.message.contains("127.0.0.1") == true)
    }

    @Test func aResetIs1006() async throws {
        let server = SocketServer { peer in
            peer.write(Array(Self.stream(answering: peer.readHead()).prefix(140)))
            _ = peer.read()
            peer.reset()
        }
        let connection = TestConnection(port: server.port)
        #expect(await connection.waitFor { $0.isOpened })
        connection.send("x")
        let closure = await connection.closure()
        #expect(closure?.code == 1006)
        #expect(closure?.error?.code == .connectionLost)
    }

    @Test func aCloseFrameIsReadAlthoughWritingFailed() async throws {
        let gate = DispatchSemaphore(value: 0)
        let server = SocketServer { peer in
            peer.acceptWebSocket()
            gate.wait()
            peer.write([0x81, 1, 0x61, 0x88, 2, 0x0F, 0xA9])
            peer.reset()
        }
        let connection = TestConnection(port: server.port)
        #expect(await connection.waitFor { $0.isOpened })
        connection.perform { $0.isReadingPaused = true }
        await connection.turn()
        gate.signal()
        #expect(await server.hasServed())
        for _ in 0..<5 {
            connection.send("too late")
            await connection.turn()
        }
        connection.perform { $0.isReadingPaused = false }
        #expect(await connection.closure() == WebSocketClosure(code: 4009))
        #expect(connection.now.messages == [message("a")])
    }

    @Test func lettingGoEndsTheConnection() async throws {
        let server = SocketServer { peer in
            peer.acceptWebSocket()
            while !peer.read().isEmpty {}
        }
        let connection = TestConnection(port: server.port)
        #expect(await connection.waitFor { $0.isOpened })
        connection.letGo()
        #expect(await server.hasServed())
        #expect(connection.now.closures.isEmpty)
    }

    @Test func aPeerThatIgnoresTheCloseFrameIsLeft() async throws {
        let server = SocketServer { peer in
            peer.write(Array(Self.stream(answering: peer.readHead()).prefix(140)))
            while !peer.read().isEmpty {}
        }
        var request = WebSocketRequest(url: "ws://127.0.0.1:\(server.port)/")
        request.closeTimeout = .milliseconds(100)
        let connection = TestConnection(request)
        #expect(await connection.waitFor { $0.isOpened })
        connection.perform { $0.close(code: 1000, reason: "") }
        #expect(await connection.closure()?.error?.code == .timedOut)
    }

    @Test func aPeerThatDoesNotReadFillsTheQueueUpToItsBound() async throws {
        let gate = DispatchSemaphore(value: 0)
        let server = SocketServer { peer in
            peer.write(Array(Self.stream(answering: peer.readHead()).prefix(140)))
            gate.wait()
        }
        var request = WebSocketRequest(url: "ws://127.0.0.1:\(server.port)/")
        request.maximumSendQueueSize = 1 << 20
        let connection = TestConnection(request)
        #expect(await connection.waitFor { $0.isOpened })
        let refused = Lock<TransportError?>(nil)
        for _ in 0..<100 {
            connection.perform { connection in
                do throws(TransportError) {
                    try connection.send(text: Array(repeating: 0x61, count: 500_000))
                } catch {
                    refused.withLock { $0 = error }
                }
            }
        }
        #expect(await eventually { refused.withLock { $0?.code } == .tooLarge })
        #expect(refused.withLock { $0?.message.contains("maximumSendQueueSize") } == true)
        gate.signal()
        connection.perform { $0.drop() }
    }

    @Test(
        arguments: [
            ("ws://127.0.0.1:1/", .couldNotConnect), ("ws://no.such.host.invalid/", .couldNotResolve),
            ("http://x/", .invalidRequest), ("ws://", .invalidRequest),
        ] as [(String, TransportError.Code)])
    func whatCannotBeReachedIsSaid(url: String, code: TransportError.Code) async throws {
        #expect(await TestConnection(WebSocketRequest(url: url)).closure()?.error?.code == code)
    }
}

@Suite(.overSockets)
struct CertificateTests {
    enum Kind: CaseIterable { case expired, selfSigned, wrongHost, unknownAuthority }

    /// At most one pong, the newest, is pending.
    @Test func aPeerThatPingsWithoutReadingCostsNoMemory() async throws {
        let flood = [UInt8](repeatElement([0x89, 125] + [UInt8](repeating: 7, count: 125), count: 500).joined())
        let (pinged, answered) = (Lock(0), Lock(0))
        let server = SocketServer { peer in
            peer.acceptWebSocket()
            while pinged.withLock({ $0 }) < 50 << 20 {
                peer.write(flood)
                pinged.withLock { $0 += flood.count }
            }
            peer.write([0x88, 2, 0x03, 0xE8])
            while true {
                let count = peer.read().count
                if count == 0 { return }
                answered.withLock { $0 += count }
            }
        }
        let connection = TestConnection(port: server.port)
        #expect(await connection.closure()?.code == 1000)
        #expect(await server.hasServed())
        // The pings in the system's buffers are sent; one pong answers the rest.
        #expect(answered.withLock { $0 } < 20 << 20)
    }

    @Test(arguments: Kind.allCases)
    func badCertificatesAreToldApart(kind: Kind) async throws {
        let authority = try await CertificateAuthority()
        let otherAuthority = try await CertificateAuthority()
        let leaf: CertificateAuthority.Leaf
        let expected: (code: TransportError.Code, words: String)
        switch kind {
        case .expired:
            leaf = try await authority.issue("IP:127.0.0.1", days: -1)
            expected = (.certificateExpired, "has expired")
        case .selfSigned:
            leaf = try await authority.makeSelfSigned("IP:127.0.0.1")
            expected = (.certificateUntrusted, "self-signed")
        case .wrongHost:
            leaf = try await authority.issue("DNS:example.com")
            expected = (.certificateWrongHost, "for another host")
        case .unknownAuthority:
            leaf = try await otherAuthority.issue("IP:127.0.0.1")
            expected = (.certificateUntrusted, "authority is unknown")
        }
        let server = try await EchoServer(tls: leaf)
        let socket = await TestConnection(port: server.port, tls: authority.certificate).closure()?.error
        #expect(socket?.code == expected.code)
        #expect(socket?.message.contains(expected.words) == true, "\(socket?.message ?? "")")
        await #expect {
            try await HTTPClient.send(
                HTTPRequest(url: "https://127.0.0.1:\(server.port)/"),
                options: NetworkOptions(caFile: authority.certificate, proxy: ""))
        } throws: { ($0 as? TransportError)?.code == expected.code }
        await server.stop()
    }

    @Test func theSystemsStoreDoesNotTrustOurAuthority() async throws {
        let authority = try await CertificateAuthority()
        let server = try await EchoServer(tls: authority.issue("IP:127.0.0.1"))
        let connection = TestConnection(WebSocketRequest(url: "wss://127.0.0.1:\(server.port)/"))
        #expect(await connection.closure()?.error?.code == .certificateUntrusted)
        await server.stop()
    }

    @Test func aMissingFileAndAPlainServerAreSaid() async throws {
        let server = try await EchoServer()
        let missing = TestConnection(port: server.port, tls: "/no/such/file.pem")
        #expect(await missing.closure()?.error?.code == .invalidRequest)
        let plain = TestConnection(WebSocketRequest(url: "wss://127.0.0.1:\(server.port)/"))
        let error = await plain.closure()?.error
        #expect(error?.code == .tls)
        #expect(error?.message.contains("does not seem to speak TLS") == true)
        await server.stop()
    }
}
