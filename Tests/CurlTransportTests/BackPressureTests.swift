import CurlTransport
import Dispatch
import TestSupport
import Testing
import Basics
import Transport

/// What happens while one side does not read.
@Suite(.overSockets)
struct BackPressureTests {
    @Test(arguments: [false, true])
    func sendsWhileAWriteIsBlockedArriveInOrder(overTLS: Bool) async throws {
        let authority = try CertificateAuthority()
        let server = try await EchoServer(tls: overTLS ? authority.issue("IP:127.0.0.1") : nil)
        let connection = TestConnection(port: server.port, tls: overTLS ? authority.certificate : nil)
        #expect(await connection.waitFor { $0.isOpened })
        try await server.setReading(false)
        connection.send(String(repeating: "x", count: 8_000_000))  // more than the sockets hold
        for number in 0..<200 {
            connection.send("\(number)" + String(repeating: "y", count: 10_000))
            await connection.turn()  // a write is tried between two sends
        }
        try await server.setReading(true)
        #expect(await connection.waitFor { $0.messages.count == 201 || !$0.closures.isEmpty })
        #expect(connection.now.closures == [])
        #expect(connection.now.messages.dropFirst().map(\.text).enumerated().allSatisfy { $1.hasPrefix("\($0)y") })
        connection.perform { $0.drop() }
        await server.stop()
    }

    @Test func pausingHoldsThePeerBackAndResumingLosesNothing() async throws {
        let server = try await EchoServer()
        let connection = TestConnection(port: server.port)
        #expect(await connection.waitFor { $0.isOpened })
        connection.perform { $0.isReadingPaused = true }
        for number in 0..<500 { connection.send("\(number)" + String(repeating: "z", count: 20_000)) }
        #expect(await networkThreadRests())
        #expect(connection.now.messages.isEmpty)
        connection.perform { $0.isReadingPaused = false }
        #expect(await connection.waitFor { $0.messages.count == 500 })
        #expect(connection.now.messages.map(\.text).enumerated().allSatisfy { $1.hasPrefix("\($0)z") })
        connection.perform { $0.drop() }
        await server.stop()
    }

    @Test func aPausedConnectionThatBreaksCostsNothingAndTellsLater() async throws {
        let gate = DispatchSemaphore(value: 0)
        let server = SocketServer { peer in
            peer.acceptWebSocket()
            gate.wait()
            peer.write([0x81, 1, 0x61])
            peer.reset()
        }
        let connection = TestConnection(port: server.port)
        #expect(await connection.waitFor { $0.isOpened })
        connection.perform { $0.isReadingPaused = true }
        await connection.turn()
        gate.signal()
        #expect(await server.hasServed())
        #expect(await networkThreadRests())
        #expect(connection.now.closures.isEmpty)
        connection.perform { $0.isReadingPaused = false }
        #expect(await connection.closure()?.code == 1006)
        #expect(connection.now.messages.map(\.text) == ["a"])
    }

    @Test func aPausedConnectionCanBeClosed() async throws {
        let server = try await EchoServer()
        let connection = TestConnection(port: server.port)
        #expect(await connection.waitFor { $0.isOpened })
        connection.perform { $0.isReadingPaused = true }
        connection.send("unread")
        connection.perform { $0.close(code: 1000, reason: "") }
        #expect(await connection.closure() == WebSocketClosure(code: 1000))
        #expect(connection.now.messages.isEmpty)
        await server.stop()
    }

    @Test func aPeerThatClosesWithoutReadingCostsNothing() async throws {
        let gate = DispatchSemaphore(value: 0)
        let server = SocketServer { peer in
            peer.acceptWebSocket()
            gate.wait()
            peer.write([0x88, 2, 0x03, 0xE9] + [UInt8](repeating: 0, count: 100_000))
            DispatchSemaphore(value: 0).wait()  // for ever: it neither reads nor ends
        }
        var request = WebSocketRequest(url: "ws://127.0.0.1:\(server.port)/")
        request.closeTimeout = .seconds(3600)
        let connection = TestConnection(request)
        #expect(await connection.waitFor { $0.isOpened })
        connection.send(String(repeating: "x", count: 12_000_000))
        await connection.turn()
        gate.signal()
        #expect(await connection.waitFor { $0.reads > 0 })
        #expect(await networkThreadRests())
        connection.perform { $0.drop() }
    }
}
