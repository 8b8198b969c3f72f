import Basics
import CurlTransport
import Dispatch
import TestSupport
import Testing

@testable import Transport

/// Behavior while one side does not read.
@Suite(.overSockets)
struct BackPressureTests {
    @Test(arguments: [false, true])
    func sendsWhileAWriteIsBlockedArriveInOrder(overTLS: Bool) async throws {
        let authority = try await CertificateAuthority()
        let server = try await EchoServer(tls: overTLS ? authority.issue("IP:127.0.0.1") : nil)
        let connection = TestConnection(port: server.port, tls: overTLS ? authority.certificate : nil)
        #expect(await connection.waitFor { $0.isOpened })
        try await server.setReading(false)
        connection.send(String(repeating: "x", count: 8_000_000))  // more than the sockets hold
        for number in 0..<200 {
            connection.send("\(number)" + String(repeating: "y", count: 10_000))
            await connection.turn()  // a write is attempted between two sends
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

    /// A quarter of a mebibyte inflates to 200. Other work runs between two parts, and a pause takes effect.
    @Test func compressedBytesAreInflatedInManyTurns() async throws {
        let message = [UInt8](repeating: 0x61, count: 200_000)
        let deflater = try #require(Deflater(windowBits: 15, keepsContext: false))
        let frame = deflater.deflate(message)
        let server = SocketServer { peer in
            peer.acceptWebSocket(extensions: "permessage-deflate; server_no_context_takeover")
            for _ in 0..<1000 { peer.writeFrame(frame, opcode: 0x41) }
            _ = peer.read()
        }
        let meter = TurnMeter()
        let request = WebSocketRequest(url: "ws://127.0.0.1:\(server.port)/", compression: DeflateOffer())
        NetworkActor.execute { meter.start(request) }
        let bound = 2 * WebSocketMachine.inflatedBytesPerCall + 1032 << 10 + message.count
        #expect(await eventually { await meter.total > 0 })
        #expect(await networkThreadRests())
        #expect(await meter.total <= bound)
        NetworkActor.execute { meter.resume() }
        #expect(await eventually { await meter.total == 1000 * message.count })
        #expect(await meter.most <= bound)
        NetworkActor.execute { meter.stop() }
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
            DispatchSemaphore(value: 0).wait()  // forever: it neither reads nor ends
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

/// Counts the message bytes of each turn of the I/O thread. Pauses the connection after the first.
@NetworkActor
private final class TurnMeter {
    private(set) var total = 0
    private(set) var most = 0
    private var ofTurn = 0
    private var connection: WebSocketConnection?

    nonisolated init() {}

    func start(_ request: WebSocketRequest) {
        connection = WebSocketConnection(request, options: NetworkOptions(proxy: "")) { [weak self] event in
            if case .received(let messages, _, _) = event { self?.received(messages) }
        }
        connection?.start()
    }

    private func received(_ messages: WebSocketMessages) {
        let isFirst = total == 0
        for case .text(let text) in messages {
            ofTurn += text.count
            total += text.count
        }
        most = max(most, ofTurn)
        guard total > 0 else { return }
        NetworkActor.execute {
            self.ofTurn = 0
            if isFirst { self.connection?.isReadingPaused = true }
        }
    }

    func resume() { connection?.isReadingPaused = false }

    func stop() { connection?.drop() }
}
