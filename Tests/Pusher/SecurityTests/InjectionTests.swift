import Basics
import Foundation
import PusherHTTP
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing
import Transport

/// Names, keys and headers chosen by strangers add nothing but themselves to a request.
@Suite(.overSockets)
struct InjectionTests {
    private static let hostile = "x\r\nX-Injected: 1\r\n\r\nGET /"
    private let recorder = Recorder()

    @Test(arguments: [
        "a\r\nb", "a b", "a&channel_name=private-b", "a?b", "a/../b", "private-a:b", "a\u{0}", "a%0d%0a", "zoë", "a\"b",
    ])
    func aChannelNameIsRefusedBeforeAnythingIsSent(name: String) async throws {
        #expect(throws: InvalidChannelName.self) { try ChannelName(name) }
        let signer = PusherSigner(key: "k", secret: "s")
        #expect(throws: PusherHTTPError.self) { try signer.authorizeChannel(socketID: "1.2", channel: name) }
        let client = PusherHTTPClient(appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: 1, useTLS: false)
        await #expect {
            try await client.trigger(event: "e", channels: [name], data: "{}")
        } throws: { ($0 as? PusherHTTPError)?.kind == .invalidArgument }
    }

    /// A signature for one connection and channel is not valid for another: the parts of the signed text are kept
    /// apart.
    @Test(arguments: ["1.2:private-x", "1.2::user::{}", "1", "1.2.3", ".", "1.a", "1.2\n", "", "-1.2", "１.２"])
    func aSocketIDIsTwoNumbers(text: String) {
        #expect(SocketID(text) == nil)
        let signer = PusherSigner(key: "k", secret: "s")
        #expect(throws: PusherHTTPError.self) { try signer.authorizeChannel(socketID: text, channel: "private-a") }
        #expect(throws: PusherHTTPError.self) { try signer.authenticateUser(socketID: text, userID: "u") }
    }

    @Test(arguments: [hostile, "a/b?c#d", "a b", "%0d%0a", "ключ"])
    func aKeyIsOnePartOfThePath(key: String) async throws {
        let heads = Lock<[String]>([])
        let server = SocketServer { peer in
            let head = peer.readHead()
            heads.withLock { $0.append(head) }
        }
        var options = PusherClientOptions(host: .host("127.0.0.1"), port: server.port, useTLS: false)
        options.proxy = ""
        let pusher = Pusher(key: key, options: options)
        pusher.connect()
        #expect(await eventually { heads.withLock { !$0.isEmpty } })
        pusher.disconnect()
        let lines = try #require(heads.withLock { $0.first }).components(separatedBy: "\r\n")
        #expect(lines[0].hasPrefix("GET /app/\(key.percentEncoded)?protocol=7&"))
        #expect(lines[0].split(separator: " ").count == 3)
        #expect(!lines.contains { $0.hasPrefix("X-Injected") })
    }

    @Test(arguments: [hostile, "127.0.0.1/x", "127.0.0.1\r\nX-Injected: 1", "user@127.0.0.1", "a b", ""])
    func aHostIsAHostOrAnError(host: String) async {
        var options = PusherClientOptions(host: .host(host), port: 1, path: "/x\r\nX-Injected: 1", useTLS: false)
        options.proxy = ""
        options.autoReconnect = false
        options.connectTimeout = .seconds(5)
        let pusher = Pusher(key: "k", options: options)
        pusher.delegate = recorder
        pusher.connect()
        #expect(await recorder.waitFor("error "))
        #expect(!recorder.contains("→ connected"))
    }

    @Test(arguments: [
        ["X-A": "b\r\nX-Injected: 1"], ["X-A\r\nX-Injected": "1"], ["X-A": "b\nX-Injected: 1"], ["X-A:": "b"],
        ["": "b"], ["X-A": "b\u{0}"],
    ])
    func aHeaderThatWouldAddAnotherFailsTheAuthorization(headers: [String: String]) async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(server.port)/pusher/auth")
                $0.authHeaders = { headers }
            }
            pusher.subscribe("private-x")
            pusher.connect()
            #expect(await recorder.waitFor("failed private-x"))
            #expect(!recorder.contains("X-Injected: 1"))
            let requests = await server.state.history.count { if case .authRequest = $0 { true } else { false } }
            #expect(requests == 0)
        }
    }

    @Test func parametersAreEscapedInTheForm() async throws {
        let forms = Lock<[String]>([])
        let endpoint = SocketServer { peer in
            let head = peer.readHead()
            let length = head.components(separatedBy: "Content-Length: ").last?.prefix { $0.isNumber }
            var body: [UInt8] = []
            while body.count < length.flatMap({ Int($0) }) ?? 0 { body += peer.read() }
            forms.withLock { $0.append(String(decoding: body, as: UTF8.self)) }
            peer.write("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        }
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(endpoint.port)/")
                $0.authParameters = { ["a&channel_name": "private-b&c=d\r\n+ %"] }
            }
            pusher.subscribe("private-a=@,.;b")
            pusher.connect()
            #expect(await recorder.waitFor("failed private-a=@,.;b 403"))
        }
        let parts = try #require(forms.withLock { $0.first }).split(separator: "&")
        #expect(
            parts.dropFirst() == [
                "channel_name=private-a%3D%40%2C.%3Bb", "a%26channel_name=private-b%26c%3Dd%0D%0A%2B%20%25",
            ])
    }

    /// The ID is always a single path segment; one that could not be is rejected.
    @Test(arguments: [
        (hostile, false), ("a/../../b", false), ("a/b", false), ("a?b=c", false), ("a#b", false), ("a%2Fb", false),
        ("a b", false), ("ü", false), ("", false), ("a=@,.;b-_9", true), ("a..b", true), ("a;b", true),
    ])
    func aUserIDOfTheHTTPAPIIsOnePartOfThePathOrRefused(id: String, isSent: Bool) async throws {
        let paths = Lock<[String]>([])
        let server = SocketServer { peer in
            let head = peer.readHead()
            paths.withLock { $0.append(head) }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        }
        let client = PusherHTTPClient(
            appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: server.port, useTLS: false, proxy: "")
        do {
            try await client.terminateConnections(ofUser: id)
            #expect(isSent)
        } catch {
            #expect(!isSent && error.kind == .invalidArgument)
        }
        // Shows the requests sent before it.
        try await client.terminateConnections(ofUser: "last")
        let heads = paths.withLock { $0 }
        #expect(
            heads.map { String($0.prefix { $0 != "?" }) }
                == (isSent ? [id, "last"] : ["last"]).map { "POST /apps/1/users/\($0)/terminate_connections" })
        #expect(!heads.contains { $0.contains("\r\nX-Injected") })
    }

    /// Libraries, proxies and servers resolve such segments, regardless of the signature.
    @Test(arguments: [".", "..", "%2e", "%2E%2e", ".%2e", ""])
    func aDotSegmentIsRefusedBeforeAnythingIsSent(segment: String) async throws {
        let heads = Lock<[String]>([])
        let server = SocketServer { peer in
            let head = peer.readHead()
            heads.withLock { $0.append(head) }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        }
        func client(appID: String = "1", path: String = "") -> PusherHTTPClient {
            PusherHTTPClient(
                appID: appID, key: "k", secret: "s", host: "127.0.0.1", port: server.port, path: path, useTLS: false,
                proxy: "")
        }
        func expectRefused(_ call: () async throws -> Void, _ what: Comment) async {
            await #expect(what) { try await call() } throws: { ($0 as? PusherHTTPError)?.kind == .invalidArgument }
        }
        await expectRefused({ try await client().terminateConnections(ofUser: segment) }, "user")
        await expectRefused({ _ = try await client().channel(segment) }, "channel")
        if !segment.contains("%") {
            await expectRefused({ _ = try await client(appID: segment).channels() }, "application")
        }
        if !segment.isEmpty {
            await expectRefused({ _ = try await client(path: "/a/\(segment)/b").channels() }, "path")
            await expectRefused({ _ = try await client(path: segment).channels() }, "path")
        }
        #expect(heads.withLock { $0 } == [])
    }

    @Test(arguments: ["a/b", "../2", "1?x=y", "1#x"])
    func anApplicationIDIsOneSegment(appID: String) async throws {
        let heads = Lock<[String]>([])
        let server = SocketServer { peer in
            let head = peer.readHead()
            heads.withLock { $0.append(head) }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"channels\":{}}")
        }
        let client = PusherHTTPClient(
            appID: appID, key: "k", secret: "s", host: "127.0.0.1", port: server.port, useTLS: false, proxy: "")
        _ = try? await client.channels()
        for head in heads.withLock({ $0 }) {
            #expect(head.split(separator: " ")[1].split(separator: "?")[0].split(separator: "/").count == 3)
        }
    }

    /// Likewise for the WebSocket's own path.
    @Test(
        arguments: [(".", nil), ("..", nil), ("key", "/a/../b"), ("key", "/%2e%2E"), ("key", ".")]
            as [(String, String?)])
    func aDotSegmentInTheWayToAWebSocketIsReported(key: String, path: String?) async throws {
        let heads = Lock(0)
        let server = SocketServer { peer in
            _ = peer.readHead()
            heads.withLock { $0 += 1 }
        }
        var options = PusherClientOptions(host: .host("127.0.0.1"), port: server.port, path: path, useTLS: false)
        options.proxy = ""
        let pusher = Pusher(key: key, options: options)
        pusher.delegate = recorder
        pusher.connect()
        #expect(await recorder.waitFor("error "))
        #expect(recorder.contains("the URL's path has a segment of dots"))
        #expect(!recorder.contains("will retry"))
        pusher.disconnect()
        #expect(heads.withLock { $0 } == 0)
    }
}
