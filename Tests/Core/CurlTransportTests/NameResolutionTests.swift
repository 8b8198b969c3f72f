import Basics
import CLibcurl
import CurlTransport
import Foundation
import Glibc
import TestSupport
import Testing
import Transport

/// A name server that does not answer. libcurl resolves names on its own threads, but waits for them on ours when a
/// transfer is discarded (before 7.87: always).
@Suite(.overSockets)
struct NameResolutionTests {
    @Test(.enabled("needs namespaces", Namespace.isPermitted))
    func aLookUpThatHangsHoldsNothingElseUp() async throws {
        let failure = try await Namespace.run(
            "NameResolutionTests/insideWithASilentNameServer",
            prepare: """
                mount -t tmpfs none /mnt
                printf 'nameserver 127.0.0.1\\noptions timeout:30 attempts:4\\n' > /mnt/resolv.conf
                mount --bind /mnt/resolv.conf /etc/resolv.conf
                """)
        #expect(failure == nil)
    }

    @Test(.enabled(if: Namespace.isInside, "runs within another test"))
    func insideWithASilentNameServer() async throws {
        let nameServer = try #require(SilentNameServer())
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let start = ContinuousClock.now

        let dropped = TestConnection(WebSocketRequest(url: "ws://a.test/"))
        #expect(await eventually { nameServer.wasAsked(for: "a") })
        dropped.perform { $0.drop() }
        #expect(try await isAnswered(by: server))

        #expect(await failure(of: HTTPRequest(url: "http://b.test/", timeout: .milliseconds(500))) == .timedOut)
        #expect(nameServer.wasAsked(for: "b"))
        #expect(try await isAnswered(by: server))

        let cancelled = Task { await failure(of: HTTPRequest(url: "http://c.test/")) }
        #expect(await eventually { nameServer.wasAsked(for: "c") })
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled)
        #expect(try await isAnswered(by: server))

        await #expect(throws: TransportError.self) {
            try await HTTPClient.certificate(
                of: "https://d.test/", options: NetworkOptions(proxy: ""), timeout: .milliseconds(500))
        }
        #expect(nameServer.wasAsked(for: "d"))
        #expect(try await isAnswered(by: server))
        // A look-up takes the two minutes set above.
        #expect(ContinuousClock.now - start < .seconds(60))
        try Namespace.pass()
    }

    private func isAnswered(by server: SocketServer) async throws -> Bool {
        let request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/", timeout: .seconds(200))
        return try await HTTPClient.send(request, options: NetworkOptions(proxy: "")).status == 200
    }

    private func failure(of request: HTTPRequest) async -> TransportError.Code? {
        do throws(TransportError) {
            _ = try await HTTPClient.send(request, options: NetworkOptions(proxy: ""))
            return nil
        } catch {
            return error.code
        }
    }
}

/// Receives queries on the loopback interface's port 53.
private final class SilentNameServer: Sendable {
    private let questions = Lock<[[UInt8]]>([])

    init?() {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { return nil }
        Thread.detachNewThread { [questions] in
            var buffer = [UInt8](repeating: 0, count: 512)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                let question = Array(buffer.prefix(count))
                questions.withLock { $0.append(question) }
            }
        }
    }

    /// - Parameter label: The first label of the name.
    func wasAsked(for label: String) -> Bool {
        let wanted = [UInt8(label.utf8.count)] + Array(label.utf8) + [4] + Array("test".utf8)
        return questions.withLock { $0.contains { $0.dropFirst(12).starts(with: wanted) } }
    }
}
