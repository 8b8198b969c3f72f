import Glibc
import TestSupport
import Testing

@testable import PusherMockServer

struct BrowserGuardTests {
    @Test(
        arguments: [
            ("localhost", true), ("localhost:6001", true), ("LOCALHOST:1", true), ("app.localhost:80", true),
            ("127.0.0.1:6001", true), ("127.9.8.7", true), ("[::1]:6001", true), ("192.0.2.1:6001", true),
            ("pusher.test:6001", true), ("Mock:6001", true),
            ("evil.example:6001", false), ("localhost.evil.example", false), ("notlocalhost", false), ("", false),
            ("pusher.test.evil.example", false), ("127.0.0.1.evil.example", false), ("user@localhost", false),
            ("localhost:65536", false), ("localhost:6001:6001", false), ("localhost, evil.example", false),
            ("[::1", false), ("::1", false), ("localhost/", false), ("local\u{AD}host", false), ("*", false),
        ])
    func onlyItsOwnHostsAreAdmitted(host: String, isAdmitted: Bool) {
        let browserGuard = BrowserGuard(host: "mock", allowedHosts: ["Pusher.test"])
        #expect((browserGuard.refusal(host: host, origin: nil) == nil) == isAdmitted)
        #expect(browserGuard.refusal(host: nil, origin: nil) != nil)
    }

    @Test(
        arguments: [
            ("http://localhost:6001", "localhost:6001", true), ("https://localhost:6001", "localhost:6001", true),
            ("http://[::1]:6001", "[::1]:6001", true), ("http://app.test", "localhost:6001", true),
            ("http://localhost:3000", "localhost:6001", false), ("http://localhost:6001", "127.0.0.1:6001", false),
            ("http://evil.example", "localhost:6001", false), ("null", "localhost:6001", false),
            ("", "localhost:6001", false), ("file://localhost:6001", "localhost:6001", false),
            ("http://evil.example:6001", "evil.example:6001", false),
        ])
    func onlyItsOwnPagesAndThoseAllowedAreAdmitted(origin: String, host: String, isAdmitted: Bool) {
        let browserGuard = BrowserGuard(host: "127.0.0.1", allowedOrigins: ["http://app.test"])
        #expect((browserGuard.refusal(host: host, origin: origin) == nil) == isAdmitted)
    }

    @Test func aStarAdmitsEverything() {
        let browserGuard = BrowserGuard(host: "127.0.0.1", allowedHosts: ["*"], allowedOrigins: ["*"])
        #expect(browserGuard.refusal(host: "any.example", origin: "http://other.example") == nil)
        #expect(browserGuard.refusal(host: "any.example", origin: "null") == nil)
    }
}

@Suite(.overSockets)
struct HostFieldTests {
    /// - Returns: The status; `nil` without an answer.
    private func status(
        _ path: String, _ fields: String, version: String = "1.1", to server: PusherMockServer
    ) throws -> Int? {
        let peer = try #require(SocketServer.Peer.connect(port: server.port))
        defer { close(peer.descriptor) }
        let body = "socket_id=1.2&channel_name=private-x"
        peer.write(
            "POST \(path) HTTP/\(version)\r\n\(fields)Connection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                + body)
        var answer: [UInt8] = []
        while case let next = peer.read(), !next.isEmpty { answer += next }
        return String(decoding: answer, as: UTF8.self).split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }

    /// A page's own name that suddenly resolves to this machine.
    @Test(arguments: [true, false], ["/pusher/auth", "/pusher/user-auth"])
    func anotherHostIsNotSignedFor(servesAuthOnly: Bool, path: String) async throws {
        var configuration = PusherMockServer.Configuration(servesAuthOnly: servesAuthOnly)
        configuration.allowedHosts = ["pusher.test"]
        let server = try await PusherMockServer.start(configuration)
        for (host, expected) in [
            ("localhost:\(server.port)", 200), ("127.0.0.1:\(server.port)", 200), ("pusher.test", 200),
            ("evil.example:\(server.port)", 403), ("evil.example", 403), ("", 403),
        ] {
            #expect(try status(path, "Host: \(host)\r\n", to: server) == expected, "\(host)")
        }
        let page = "Host: evil.example\r\nOrigin: http://evil.example\r\n"
        #expect(try status(path, page, to: server) == 403)
        #expect(await server.state.authRequestCount == 3)
        let refused = PusherMockServer.LogEntry.httpRequest(method: "POST", path: path, status: 403)
        #expect(await server.state.history.count { $0 == refused } == 4)
        await server.stop()
    }

    /// RFC 9112, section 3.2.
    @Test(
        arguments: [
            ("1.1", "", 400), ("1.1", "Host: a\r\nHost: a\r\n", 400), ("1.1", "Host: a\r\nHost: b\r\n", 400),
            ("1.1", "Host: a b\r\n", 400), ("1.1", "Host: a, b\r\n", 400), ("1.1", "Host: u@a\r\n", 400),
            ("1.1", "Host: a:x\r\n", 400), ("1.0", "Host: a\r\nHost: b\r\n", 400), ("1.1", "Host: a/b\r\n", 400),
            ("1.0", "", 404), ("1.1", "Host: a\r\n", 404), ("1.1", "Host:\r\n", 404),
            ("1.1", "Host: [::1]:80\r\n", 404),
        ])
    func aRequestHasOneHost(version: String, fields: String, expected: Int) async throws {
        let server = try await PusherMockServer.start()
        #expect(try status("/nothing", fields, version: version, to: server) == expected)
        await server.stop()
    }

    @Test(arguments: ["", "Host: a\r\nHost: b\r\n"])
    func soDoesAHandshake(fields: String) async throws {
        let server = try await PusherMockServer.start()
        let upgrade =
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        let peer = try #require(SocketServer.Peer.connect(port: server.port))
        defer { close(peer.descriptor) }
        peer.write("GET /app/app-key?protocol=7 HTTP/1.1\r\n\(fields)\(upgrade)\r\n")
        #expect(String(decoding: peer.read(), as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
        await server.stop()
    }

    @Test(arguments: ["http://a", "a:1", "a b", "", "a/", "[::1"])
    func whatIsNoHostIsAnError(host: String) async throws {
        var configuration = PusherMockServer.Configuration()
        configuration.allowedHosts = [host]
        let error = await #expect(throws: PusherMockServerError.self) {
            try await PusherMockServer.start(configuration)
        }
        #expect(error?.code == .invalidConfiguration)
    }
}
