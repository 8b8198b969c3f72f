import Glibc
import PusherMockServer
import TestSupport
import Testing

/// Consecutive requests and answers on a connection, as bytes.
@Suite(.overSockets)
struct HTTPFramingTests {
    private func answer(of peer: SocketServer.Peer, until isWhole: (String) -> Bool = { _ in false }) -> String {
        var answer: [UInt8] = []
        while case let next = peer.read(), !next.isEmpty {
            answer += next
            let text = String(decoding: answer, as: UTF8.self)
            if isWhole(text) { return text }
        }
        return String(decoding: answer, as: UTF8.self)
    }

    @Test(.regression("The answer to HEAD had a body, which clients took for the next answer."))
    func anAnswerToHEADHasNoBody() async throws {
        let server = try await PusherMockServer.start()
        let peer = try #require(SocketServer.Peer.connect(port: server.port))
        defer { close(peer.descriptor) }
        peer.write(
            "HEAD /nothing HTTP/1.1\r\nHost: h\r\n\r\nGET /nothing HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        let text = answer(of: peer)
        #expect(text.ranges(of: "HTTP/1.1 404").count == 2)
        #expect(text.ranges(of: "Not found").count == 1 && text.ranges(of: "Content-Length: 10").count == 2)
        await server.stop()
    }

    @Test(.regression("A client that waited for 100 Continue was not told to go on."))
    func aClientThatWaitsToSendItsBodyIsToldToGoOn() async throws {
        let server = try await PusherMockServer.start()
        let peer = try #require(SocketServer.Peer.connect(port: server.port))
        defer { close(peer.descriptor) }
        peer.write(
            "POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\nExpect: 100-Continue\r\nConnection: close\r\n"
                + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 40\r\n\r\n")
        #expect(answer(of: peer) { $0.hasSuffix("\r\n\r\n") }.hasPrefix("HTTP/1.1 100 Continue\r\n"))
        peer.write("socket_id=1.2&channel_name=private-x&a=b")
        #expect(answer(of: peer).hasPrefix("HTTP/1.1 200 OK\r\n"))
        await server.stop()
    }
}
