import Basics
import Foundation
import JSONBytes
import PusherHTTP
import PusherProtocol
import PusherProtocolTestSupport
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// Hostile text in any field of a peer never reaches a log or an error unchanged.
@Suite(.overSockets)
struct PeerTextTests {
    /// Records the application's debug log.
    private final class Listener: PusherDelegate {
        private let kept = Lock<[String]>([])

        var lines: [String] { kept.withLock { $0 } }

        func debugLog(message: String) { add(message) }

        func receivedError(error: PusherError) { add(error) }

        func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
            add(error?.localizedDescription ?? "")
            (error?.userInfo[NSUnderlyingErrorKey] as? PusherError).map(add)
        }

        func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {}

        private func add(_ error: PusherError) {
            add("\(error)")
            add(error.message)
            add(error.channelName ?? "")
        }

        private func add(_ line: String) { kept.withLock { $0.append(line) } }
    }

    private let log = LogLines()
    private let listener = Listener()

    private func expectFitLines(_ lines: [String], sourceLocation: SourceLocation = #_sourceLocation) {
        for line in lines where !HostileText.flaws(in: line).isEmpty {
            Issue.record(
                "\(HostileText.flaws(in: line)) in \(line.prefix(300).debugDescription)",
                sourceLocation: sourceLocation)
        }
    }

    private func client(
        of server: SocketServer, _ change: (inout PusherClientOptions) -> Void = { _ in }
    ) -> Pusher {
        var options = PusherClientOptions(
            authMethod: .inline(secret: "s"), autoReconnect: false, host: .host("127.0.0.1"), port: server.port,
            useTLS: false)
        options.proxy = ""
        options.logger = log.logger
        options.userAuthMethod = .provider { _ in PusherUserAuth(auth: "k:s", userData: #"{"id":"me"}"#) }
        change(&options)
        let pusher = Pusher(key: "key", options: options)
        pusher.delegate = listener
        return pusher
    }

    /// Frames, the user of a sign-in, and the reason of a close.
    @Test func whatAServerSends() async throws {
        let pusher = client(of: HostileFrames.serve(HostileText.all))
        let room = pusher.subscribe("presence-room")
        let done = room.events("done")
        pusher.subscribe(HostileFrames.refusedChannel)
        pusher.subscribe("private-encrypted-x", auth: PusherAuth(auth: "k:s", sharedSecret: Self.key))
        pusher.user.signIn()
        pusher.connect()
        for await _ in done { break }
        _ = try await pusher.user.signedIn()
        try await room.subscribed()
        try room.trigger("client-goodbye", "")
        #expect(await eventually { log.all.contains { $0.contains("closed the connection") } })
        #expect(await eventually { log.all.contains { $0.contains("signed in") } })
        #expect(listener.lines.contains { $0.contains("signed in as") })
        #expect(listener.lines.count > 20)
        expectFitLines(log.all + listener.lines)
    }

    @Test func aMessageOfTenMegabytes() async throws {
        let message = String(repeating: HostileText.short, count: 9_000_000 / HostileText.short.utf8.count)
        let frame = #"{"event":"pusher:error","data":{"message":\#(JSONString.quoted(message))}}"#
        let server = SocketServer { peer in
            peer.acceptWebSocket()
            peer.writeFrame(#"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1.2\"}"}"#)
            peer.writeFrame(frame)
            while peer.readFrame() != nil {}
        }
        let pusher = client(of: server)
        pusher.connect()
        #expect(await eventually { log.all.contains { $0.contains("the server reports") } })
        expectFitLines(log.all + listener.lines)
    }

    private static let key = Data(repeating: 7, count: 32).base64EncodedString()

    @Test(arguments: [
        "HTTP/1.1 403 \u{1B}[2J\u{202E}forged\n\r\n\r\n", "HTTP/1.1 200 \u{9B}31m\u{2028}\r\n\r\n",
        "HTTP/1.1 101 x\r\nUpgrade: \u{1B}[2J\r\nConnection: \u{9B}\r\nSec-WebSocket-Accept: \u{202E}\r\n\r\n",
        "\u{1B}[2J\u{9B}forged\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: http://x/\u{1B}[2J\r\n\r\n",
        "HTTP/1.1 403 \(HostileText.signature)\r\n\r\n",
    ])
    func theAnswerToAHandshake(answer: String) async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write(answer)
        }
        let pusher = client(of: server)
        pusher.connect()
        #expect(await eventually { log.all.contains { $0.contains("warning") } })
        expectFitLines(log.all + listener.lines)
    }

    @Test(arguments: [
        (403, HostileText.json(HostileText.short)), (200, #"{"auth":\#(HostileText.json(HostileText.short))}"#),
        (200, #"{"auth":"k:s","channel_data":\#(HostileText.json(HostileText.short))}"#),
        (200, #"{"auth":"k:s","shared_secret":\#(HostileText.json(HostileText.short))}"#),
        (200, HostileText.short), (500, HostileText.short), (403, "<html>" + HostileText.short),
    ])
    func theAnswerOfAnAuthEndpoint(status: Int, body: String) async throws {
        let endpoint = SocketServer { peer in
            _ = peer.readHead()
            peer.write(
                "HTTP/1.1 \(status) \u{1B}[2J\u{202E}\r\nX-A: \u{9B}\r\nContent-Length: \(body.utf8.count)\r\n"
                    + "Connection: close\r\n\r\n\(body)")
        }
        let server = HostileFrames.serve([])
        let pusher = client(of: server) {
            $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(endpoint.port)/auth")
            $0.userAuthMethod = .endpoint("http://127.0.0.1:\(endpoint.port)/user")
            $0.maximumAuthRetries = 0
            $0.subscriptionTimeout = .milliseconds(300)
        }
        pusher.subscribe("private-a")
        pusher.subscribe("private-encrypted-a")
        pusher.user.signIn()
        pusher.connect()
        #expect(await eventually { log.all.count { $0.contains("warning") } >= 3 })
        expectFitLines(log.all + listener.lines)
    }

    /// Errors of an application's own code may repeat a server's text.
    @Test func theErrorOfAnAuthorizer() async throws {
        let pusher = client(of: HostileFrames.serve([])) {
            $0.userAuthMethod = .provider { _ in throw PusherTemporaryFailure(HostileText.short) }
            $0.authHeaders = { throw PusherError(.invalidArgument, HostileText.short) }
            $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:1/")
            $0.maximumAuthRetries = 0
        }
        pusher.subscribe("private-a")
        pusher.user.signIn()
        pusher.connect()
        #expect(await eventually { log.all.count { $0.contains("warning") } >= 2 })
        expectFitLines(log.all + listener.lines)
    }

    // MARK: The HTTP API

    @Test(arguments: [400, 401, 404, 413, 429, 500, 302, 200])
    func theAnswerOfTheHTTPAPI(status: Int) async throws {
        for body in HostileText.all + HostileText.all.map(HostileText.json) {
            let server = SocketServer { peer in
                _ = peer.readHead()
                peer.write(
                    "HTTP/1.1 \(status) \u{1B}[2J\u{202E}\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
                        + body)
            }
            let client = PusherHTTPClient(
                appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: server.port, useTLS: false, proxy: "")
            do {
                _ = try await client.channels()
                Issue.record("an answer that is none was taken")
            } catch { expectFitLines(["\(error)", error.message]) }
        }
    }

    // MARK: Sources

    private final class Failing: RealtimeEventSource {
        let channelPrefix = "matrix:"
        func attach(_ sink: any RealtimeEventSink) {
            sink.receive(SourceFailure(HostileText.short, channelName: "matrix:" + HostileText.short))
        }
        func detach(_ sink: any RealtimeEventSink) {}
        func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) {}
    }

    @Test func theFailureOfAnAttachedSource() async throws {
        let pusher = client(of: HostileFrames.serve([]))
        pusher.attach(Failing())
        #expect(await eventually { log.all.count == 1 })
        expectFitLines(log.all + listener.lines)
    }
}
