import Basics
import CurlTransport
import Foundation
import TestSupport
import Testing
import Transport

/// A server that sends just enough never to be silent does not hold a request forever.
@Suite(.overSockets)
struct DrippingServerTests {
    /// Announces a long body and sends `size` bytes of it 20 times a second, for at most 30 seconds.
    private static func server(_ size: Int) -> SocketServer {
        SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(600 * size)\r\nConnection: close\r\n\r\n")
            for _ in 0..<600 {
                peer.write([UInt8](repeating: 7, count: size))
                Thread.sleep(forTimeInterval: 0.05)
            }
        }
    }

    private func request(_ server: SocketServer) -> HTTPRequest {
        var request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/", timeout: .seconds(1))
        request.stallTimeout = .seconds(1)
        return request
    }

    @Test func anAnswerThatDripsIsGivenUp_andOneThatIsOnlySlowIsNot() async throws {
        let (dripping, slow) = (Self.server(1), Self.server(20))
        let requests = (drip: request(dripping), slow: request(slow))
        let options = NetworkOptions(proxy: "")
        async let slowAnswer = HTTPClient.send(requests.slow, options: options)
        let start = ContinuousClock.now
        await #expect {
            try await HTTPClient.send(requests.drip, options: options)
        } throws: { error in
            (error as? TransportError)?.code == .timedOut && "\(error)".contains("less than 64 bytes a second")
        }
        #expect(start.duration(to: .now) < .seconds(30))  // how long the server keeps sending
        #expect(try await slowAnswer.body.count == 12_000)
    }
}
