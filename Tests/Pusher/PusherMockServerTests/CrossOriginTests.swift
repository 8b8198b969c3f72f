import Foundation
import PusherMockServer
import TestSupport
import Testing

@Suite(.overSockets)
struct CrossOriginTests {
    private struct Answer {
        let status: Int
        let fields: [String: String]

        /// The fields that give a browser access for pages of other origins.
        var access: [String: String] { fields.filter { $0.key.hasPrefix("access-control-") } }

        init?(_ text: String) {
            let head = text.components(separatedBy: "\r\n\r\n")[0].components(separatedBy: "\r\n")
            guard let status = head[0].split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
            self.status = status
            let fields = head.dropFirst().map { line -> (String, String) in
                let colon = line.firstIndex(of: ":") ?? line.endIndex
                let value = line[colon...].dropFirst().drop { $0 == " " }
                return (line[..<colon].lowercased(), String(value))
            }
            self.fields = Dictionary(fields, uniquingKeysWith: { $0 + "|" + $1 })
        }
    }

    /// Sends raw bytes that no HTTP client would send.
    private func send(
        _ method: String, _ path: String, _ fields: String, body: String = "", to server: PusherMockServer
    ) throws -> Answer? {
        let peer = try #require(SocketServer.Peer.connect(port: server.port))
        defer { close(peer.descriptor) }
        peer.write(
            "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n"
                + "\(fields)\r\n\(body)")
        var answer: [UInt8] = []
        while case let next = peer.read(), !next.isEmpty { answer += next }
        return Answer(String(decoding: answer, as: UTF8.self))
    }

    private func preflight(_ origin: String, more: String = "", to server: PusherMockServer) throws -> Answer? {
        try send(
            "OPTIONS", "/pusher/auth", "Origin: \(origin)\r\nAccess-Control-Request-Method: POST\r\n\(more)", to: server
        )
    }

    private func authorize(_ fields: String, to server: PusherMockServer) throws -> Answer? {
        try send("POST", "/pusher/auth", fields, body: "socket_id=1.2&channel_name=private-x", to: server)
    }

    private func withServer(
        _ origins: [String], _ body: (PusherMockServer) async throws -> Void
    ) async throws {
        let server = try await PusherMockServer.start(.init(allowedOrigins: origins, servesAuthOnly: true))
        do { try await body(server) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test(arguments: ["/pusher/auth", "/pusher/user-auth"])
    func anAllowedPageMaySendItsRequest(path: String) async throws {
        try await withServer(["http://other.example", "HTTP://LocalHost:3000"]) { server in
            let origin = "http://localhost:3000"
            let question = try send(
                "OPTIONS", path,
                "Origin: \(origin)\r\nAccess-Control-Request-Method: POST\r\n"
                    + "Access-Control-Request-Headers: X-CSRF-Token, authorization\r\n", to: server)
            #expect(question?.status == 204)
            #expect(
                question?.access == [
                    "access-control-allow-origin": origin, "access-control-allow-credentials": "true",
                    "access-control-allow-methods": "POST",
                    "access-control-allow-headers": "X-CSRF-Token, authorization",
                ])
            #expect(question?.fields["vary"] == "Origin")
            #expect(await server.state.authRequestCount == 0)

            let answer = try send(
                "POST", path, "Origin: \(origin)\r\n", body: "socket_id=1.2&channel_name=c", to: server)
            #expect(answer?.status == 200)
            #expect(
                answer?.access == [
                    "access-control-allow-origin": origin, "access-control-allow-credentials": "true",
                ])
            #expect(answer?.fields["vary"] == "Origin")
        }
    }

    /// A page must be able to distinguish a refusal from an unreachable server.
    @Test func failuresCanBeReadToo() async throws {
        try await withServer(["http://a"]) { server in
            await server.failAuth(.respond(status: 503), next: 1)
            await server.failAuth(.redirect(to: "/elsewhere"), next: 1)
            for status in [503, 302] {
                let answer = try authorize("Origin: http://a\r\n", to: server)
                #expect(answer?.status == status)
                #expect(answer?.access["access-control-allow-origin"] == "http://a")
            }
            let wrong = try send("POST", "/pusher/auth", "Origin: http://a\r\n", body: "nonsense", to: server)
            #expect(wrong?.status == 400 && wrong?.access["access-control-allow-origin"] == "http://a")
        }
    }

    private static let long = "http://" + String(repeating: "a", count: 20_000)

    @Test(arguments: [
        "http://localhost:3001", "https://localhost:3000", "http://localhost", "http://LOCALHOST:3000",
        "http://localhost:3000.evil.example", "http://localhost:3000/", "http://localhost:3000, http://localhost:3000",
        "http://evil.example/?http://localhost:3000", "null", "*", "", long, "http://\u{202E}", "http://[::1",
        "http://localhost:3000\u{0B}", "http://localhost:3000%0d%0aX: y",
    ])
    func anyOtherOriginGetsNothing(origin: String) async throws {
        try await withServer(["http://localhost:3000"]) { server in
            let question = try preflight(origin, to: server)
            // Some of these are not valid HTTP.
            #expect(question?.status == 204 || question?.status == 400 || question == nil)
            #expect(question?.access ?? [:] == [:])
            let answer = try authorize("Origin: \(origin)\r\n", to: server)
            #expect(answer?.access ?? [:] == [:])
            #expect(answer?.status == 403 || answer?.status == 400 || answer == nil)
            if answer?.status == 403 { #expect(answer?.fields["vary"] == "Origin") }
            #expect(try authorize("Origin: http://localhost:3000\r\n", to: server)?.access.isEmpty == false)
        }
    }

    @Test(arguments: [
        "http://localhost:3000\r\n X-Forged: 1", "http://evil.example\r\nX-Forged: 1", "http://a\nX-Forged: 1",
        "http://a\rX-Forged: 1",
    ])
    func lineBreaksForgeNoField(origin: String) async throws {
        for allowed in [["http://localhost:3000"], ["*"]] {
            try await withServer(allowed) { server in
                for answer in [
                    try preflight(origin, to: server), try authorize("Origin: \(origin)\r\n", to: server),
                ] {
                    #expect(answer?.fields.keys.contains("x-forged") != true)
                    #expect(["*", nil].contains(answer?.fields["access-control-allow-origin"]))
                }
                #expect(try authorize("Origin: http://localhost:3000\r\n", to: server)?.status == 200)
            }
        }
    }

    @Test(arguments: ["http://localhost:3000", "https://x.example", "null", long])
    func everyOriginGetsNoCredentials(origin: String) async throws {
        try await withServer(["*"]) { server in
            let answer = try authorize("Origin: \(origin)\r\n", to: server)
            #expect(answer?.access == ["access-control-allow-origin": "*"])
            #expect(answer?.fields["vary"] == "Origin")
            let question = try preflight(origin, to: server)
            #expect(
                question?.access == ["access-control-allow-origin": "*", "access-control-allow-methods": "POST"])
        }
    }

    @Test func aNamedOriginHasCredentialsBesideEveryOrigin() async throws {
        try await withServer(["*", "http://a"]) { server in
            let named = try authorize("Origin: http://a\r\n", to: server)?.access
            #expect(named?["access-control-allow-credentials"] == "true")
            let other = try authorize("Origin: http://b\r\n", to: server)?.access
            #expect(other == ["access-control-allow-origin": "*"])
        }
    }

    @Test(
        arguments: [
            ("x-a,  x-b ,,x c, x\u{1}d, y(z), X-E", "x-a, x-b, X-E"),
            (String(repeating: "h", count: 101) + ", ok", "ok"),
            ((0..<60).map { "h\($0)" }.joined(separator: ","), (0..<50).map { "h\($0)" }.joined(separator: ", ")),
            ("é", nil),
        ] as [(String, String?)])
    func onlyNamesOfHeadersAreRepeated(asked: String, allowed: String?) async throws {
        try await withServer(["http://a"]) { server in
            let more = "Access-Control-Request-Headers: \(asked)\r\n"
            let answer = try preflight("http://a", more: more, to: server)
            // Invalid HTTP is rejected as a whole.
            if answer?.status == 204 { #expect(answer?.access["access-control-allow-headers"] == allowed) }
            #expect(answer?.status == 204 || !asked.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
        }
    }

    @Test func withoutAllowedOriginsNothingIsSaid() async throws {
        try await withServer([]) { server in
            let question = try preflight("http://a", to: server)
            #expect(question?.status == 403 && question?.access == [:])
            let answer = try authorize("Origin: http://a\r\n", to: server)
            #expect(answer?.status == 403 && answer?.access == [:] && answer?.fields["vary"] == nil)
        }
    }

    /// Signed requests are for servers; no page may have their secret.
    @Test func theHTTPAPIIsNotForPages() async throws {
        let server = try await PusherMockServer.start(.init(allowedOrigins: ["*"]))
        let answer = try send(
            "OPTIONS", "/apps/1/events", "Origin: http://a\r\nAccess-Control-Request-Method: POST\r\n", to: server)
        #expect(answer?.status != 204 && answer?.access == [:])
        await server.stop()
    }

    @Test(arguments: [
        "", "null", "localhost", "localhost:3000", "http://", "http:///", "http://a/", "http://a/b", "http://a?b",
        "http://a:0", "http://a:65536", "http://a:", "http://a b", "http://u@a", "http://a\r\nX: y", "http://*.a", "**",
        "http://é", "1http://a", "http://[zz]", long,
    ])
    func whatIsNoOriginIsAnError(origin: String) async throws {
        let error = await #expect(throws: PusherMockServerError.self) {
            try await PusherMockServer.start(.init(allowedOrigins: [origin]))
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("scheme://host") == true)
    }

    @Test(
        arguments: [
            ("HTTP://A", "http://a"), ("http://a:80", "http://a"), ("https://a:443", "https://a"),
            ("https://a:80", "https://a:80"), ("http://a:03000", "http://a:3000"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            ("capacitor://localhost", "capacitor://localhost"),
            ("chrome-extension://abc_d", "chrome-extension://abc_d"),
        ])
    func originsAreComparedAsBrowsersWriteThem(text: String, origin: String) {
        #expect(WebOrigin(text)?.text == origin)
    }
}
