import Glibc
import NIOWebSocket
import TestSupport
import Testing

@testable import PusherMockServer

/// Malicious clients; `make -C Lab hostile` measures the same against the process.
@Suite(.overSockets)
struct HostileClientTests {
    @Test func theHistoryIsBoundedInBytes() async throws {
        var configuration = PusherMockServer.Configuration()
        configuration.maximumHistorySize = 1 << 20
        let server = try await PusherMockServer.start(configuration)
        let (client, _) = try await TestClient.established(to: server)
        let text = String(repeating: "x", count: 100_000)
        for _ in 0..<30 { try await client.send(text) }
        try await client.send("the last")
        #expect(await server.waitFor { state in state.history.contains { $0.isFrame("the last") } })
        let bytes = await server.state.history.reduce(0) { sum, entry in
            if case .frameReceived(let text, _) = entry { sum + text.utf8.count } else { sum }
        }
        #expect((900_000...1 << 20).contains(bytes))
        await server.stop()
    }

    @Test func fragmentsWithoutBytesAreBounded() async throws {
        let server = try await PusherMockServer.start(.init(maximumMessageSize: 1 << 16))
        let (client, _) = try await TestClient.established(to: server)
        try await client.send(.text, [], fin: false)
        for _ in 0..<9_000 {
            do { try await client.send(.continuation, [], fin: false) } catch { break }  // closed by the server
        }
        #expect(await client.next() == .close(code: 1009, reason: "Message too large"))
        await server.stop()
    }

    @Test func aRequestThatDoesNotEndIsNotAwaitedForever() async throws {
        var configuration = PusherMockServer.Configuration()
        configuration.requestTimeout = .seconds(1)
        let server = try await PusherMockServer.start(configuration)
        // On a busy machine, a handshake can exceed that.
        var connection: (client: TestClient, socketID: String)?
        for _ in 0..<20 where connection == nil { connection = try? await TestClient.established(to: server) }
        let (client, socketID) = try #require(connection)
        await server.failAuth(.never, next: 1)
        let answer = "POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
        let request = "GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n"
        let held = try #require(SocketServer.Peer.connect(port: server.port))
        held.write(answer)
        #expect(await server.waitFor { $0.authRequestCount == 1 })
        for beginning in [
            "", "GET / HTTP/1.1\r\nHost: ", "POST /nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{",
            request, request + request + "GET",
        ] {
            let peer = try #require(SocketServer.Peer.connect(port: server.port))
            peer.write(beginning)
            while !peer.read().isEmpty {}  // until the server closes it
            close(peer.descriptor)
        }
        // The time-out affects neither an open WebSocket nor a request that has arrived.
        #expect(await server.waitFor { $0.tcpConnectionCount == 2 })
        try await server.inject(.text("still here"), into: socketID)
        #expect(await client.text() == "still here")
        close(held.descriptor)
        await server.stop()
    }

    @Test func attemptsToAcceptAreToldOnceAMinute() {
        var failures = AcceptFailures()
        #expect(
            [0, 1, 59, 60, 61, 119, 121].map { failures.isWorthTelling(now: .at($0)) }
                == [true, false, false, true, false, false, true])
    }

    @Test func aClientThatReadsNothingIsDropped() async throws {
        var configuration = PusherMockServer.Configuration()
        configuration.maximumUnsentSize = 1 << 20
        let server = try await PusherMockServer.start(configuration)
        let (client, socketID) = try await TestClient.established(to: server)
        try await client.stopReading()
        // More than the sockets' buffers and the limit hold.
        try await server.inject(.hugeText(byteCount: 32 << 20), into: socketID)
        #expect(await server.waitFor { $0.connectionCount == 0 })
        await server.stop()
    }
}

extension PusherMockServer.LogEntry {
    fileprivate func isFrame(_ text: String) -> Bool {
        if case .frameReceived(text, _) = self { true } else { false }
    }
}
