import Basics
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct AuthorizationTests {
    private let recorder = Recorder()

    private func endpoint(_ server: PusherMockServer) -> String { "http://127.0.0.1:\(server.port)/pusher/auth" }

    @Test(arguments: Profile.allCases) func theEndpointSigns(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: endpoint(server))
            }
            pusher.subscribe("private-a=@,.;b")
            pusher.subscribe("presence-x")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed", count: 2))
            let requests = await server.state.authRequests
            #expect(requests.compactMap(\.channelName).sorted() == ["presence-x", "private-a=@,.;b"])
            #expect(requests.allSatisfy { $0.socketID == pusher.connection.socketId })
        }
    }

    @Test func theRequestBuilderSendsItsOwnHeaders() async throws {
        var configuration = PusherMockServer.Configuration()
        configuration.requiredAuthHeaders = ["X-Token": "letmein"]
        try await withServer(configuration) { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .authRequestBuilder(authRequestBuilder: Builder(url: endpoint(server)))
            }
            pusher.subscribe("private-x")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed private-x"))
        }
    }

    @Test(arguments: Profile.allCases) func theAuthorizerAnswersInItsOwnWay(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder) { $0.authMethod = .authorizer(authorizer: Signer()) }
            pusher.subscribe("private-x")
            pusher.subscribe("private-nil")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed private-x"))
            #expect(await recorder.waitFor("failed private-nil"))
            #expect(recorder.contains("the authorizer answered nil"))
        }
    }

    struct Failure: Sendable {
        let fault: PusherMockServer.AuthFault
        let expected: String

        init(_ fault: PusherMockServer.AuthFault, _ expected: String) {
            (self.fault, self.expected) = (fault, expected)
        }
    }

    /// No failure affects the connection or the other channels, and the channel can be retried.
    @Test(arguments: [
        Failure(
            .respond(status: 403, body: "no way"),
            "failed private-x 403 no way: channel private-x: authorization failed: the auth endpoint answered 403"),
        Failure(.respond(status: 500, body: ""), "the auth endpoint answered 500"),
        Failure(.respond(status: 204, body: ""), "the auth endpoint answered 204"),
        Failure(.respond(status: 200, body: ""), "its answer is empty"),
        Failure(.respond(status: 200, body: "<html></html>"), "it answered HTML instead of a JSON object"),
        Failure(.respond(status: 200, body: "[1]"), "its answer is not a JSON object"),
        Failure(.respond(status: 200, body: "{}"), "its answer has no auth"),
        Failure(.respond(status: 200, body: #"{"auth":1}"#), "the auth in its answer is not a string"),
        Failure(.respond(status: 200, body: #"{"data":{"auth":"k:s"}}"#), "its answer has no auth"),
        Failure(.redirect(to: "http://127.0.0.1:1/"), "redirects are not followed"),
        Failure(.never, "failed private-x"),
    ])
    func failuresAreClearAndLeaveTheRestAlone(failure: Failure) async throws {
        try await withServer { server in
            await server.failAuth(failure.fault, next: 1)
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: endpoint(server))
                $0.maximumAuthRetries = 0
                if failure.fault == .never { $0.authTimeout = .seconds(10) }
            }
            let channel = pusher.subscribe("private-x")
            channel.bind(eventName: "pusher:subscription_error") { [recorder] event in
                recorder.add("bound \(event.data ?? "")")
            }
            pusher.subscribe("c")
            pusher.connect()
            #expect(await recorder.waitFor("bound {\"type\":\"AuthError\""))
            #expect(await recorder.waitFor("subscribed c"))
            #expect(recorder.contains(failure.expected))
            #expect(recorder.count("failed private-x") == 1)
            #expect(!recorder.contains("error "))
            #expect(pusher.connection.connectionState == .connected)
            #expect(!channel.subscribed)
            #expect(pusher.subscribe("private-x") === channel)
            #expect(await recorder.waitFor("subscribed private-x"))
        }
    }

    @Test(arguments: [
        ("http://127.0.0.1:1/auth", "cannot connect to 127.0.0.1:1"), ("not a url", "the URL cannot be used"),
        ("ftp://127.0.0.1/", "the URL cannot be used"), ("", "the URL cannot be used"),
    ])
    func anEndpointThatCannotBeAskedIsAnError(url: String, expected: String) async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) { $0.authMethod = .endpoint(authEndpoint: url) }
            pusher.subscribe("private-x")
            pusher.connect()
            #expect(await recorder.waitFor("failed private-x"))
            #expect(recorder.contains(expected))
            #expect(pusher.connection.connectionState == .connected)
        }
    }

    @Test(arguments: Profile.allCases) func withoutAnAuthMethodTheSubscriptionFails(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder) { $0.authMethod = .noMethod }
            pusher.subscribe("private-x")
            pusher.connect()
            #expect(await recorder.waitFor("failed private-x"))
            #expect(recorder.contains("the client has no auth method"))
        }
    }

    /// Most servers do not tie the error to a channel. The client still does, without waiting for a time-out.
    @Test(arguments: Profile.allCases) func aWrongSignatureIsReported(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .inline(secret: "wrong")
                $0.subscriptionTimeout = .seconds(1000)
            }
            pusher.subscribe("private-x")
            pusher.connect()
            #expect(await recorder.waitFor("failed private-x"))
            switch profile {
            case .vendor:
                #expect(recorder.contains("the server refused the subscription: Invalid signature"))
            case .soketi: #expect(recorder.contains("the server refused the subscription: AuthError"))
            case .reverb:
                #expect(recorder.contains("the server refused the subscription: Connection is unauthorized"))
            }
            #expect(!recorder.contains("the server reports"))  // the same error again
        }
    }

    /// Each request waits until all are released.
    @Test(arguments: Profile.allCases) func fewRequestsRunAtATime(profile: Profile) async throws {
        try await withServer(profile) { server in
            let running = Lock((now: 0, most: 0))
            let (held, release) = AsyncStream<Never>.makeStream()
            let gate = Task { for await _ in held {} }
            let pusher = Pusher.make(server, recorder) {
                $0.maximumAuthRequests = 3
                $0.authMethod = .provider { socketID, channel in
                    running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    await gate.value
                    running.withLock { $0.now -= 1 }
                    return try Signer.sign(socketID, channel)
                }
            }
            for number in 1...30 { pusher.subscribe("private-\(number)") }
            pusher.connect()
            #expect(await eventually { running.withLock { $0.now } >= 3 })
            // By the time a new client is served, additional requests would have begun.
            let other = Pusher.make(server, Recorder())
            other.connect()
            try await other.subscribe("private-31").subscribed()
            #expect(running.withLock { $0.now } == 3)
            release.finish()
            #expect(await recorder.waitFor("subscribed", count: 30))
            #expect(running.withLock { $0 } == (0, 3))
        }
    }

    @Test func requestsToAnEndpointAreFewAtATimeToo() async throws {
        let (running, gate) = (Lock(0), Gate())
        let endpoint = SocketServer { peer in
            _ = peer.readHead()
            running.withLock { $0 += 1 }
            gate.wait()
            peer.write("HTTP/1.1 403 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.maximumAuthRequests = 3
                $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(endpoint.port)/")
            }
            for number in 1...30 { pusher.subscribe("private-\(number)") }
            pusher.connect()
            #expect(await eventually { running.withLock { $0 } >= 3 })
            let other = Pusher.make(server, Recorder())
            other.connect()
            try await other.subscribe("private-31").subscribed()
            #expect(running.withLock { $0 } == 3)
            gate.open()
            #expect(await recorder.waitFor("failed private-", count: 30))
            #expect(running.withLock { $0 } == 30)
        }
    }

    @Test(arguments: Profile.allCases) func aReconnectAsksAgainForTheNewSocket(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: endpoint(server))
            }
            pusher.subscribe("private-x")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed"))
            let first = try #require(pusher.connection.socketId)
            await server.failAuth(.delay(.milliseconds(100)), next: 1)  // this answer will be for an earlier socket
            try await server.inject(.close(code: 4200), into: first)
            #expect(await server.waitFor { $0.authRequestCount == 2 })
            let second = try #require(pusher.connection.socketId)
            try await server.inject(.dropTCP, into: second)
            #expect(await recorder.waitFor("subscribed", count: 2))
            let ids = await server.state.authRequests.compactMap(\.socketID)
            #expect(Set(ids).count == ids.count)
            #expect(!recorder.contains("Invalid signature"))
        }
    }
}

private struct Builder: AuthRequestBuilderProtocol {
    let url: String

    func requestFor(socketID: String, channelName: String) -> URLRequest? {
        guard let url = URL(string: url) else { return nil }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data("socket_id=\(socketID)&channel_name=\(channelName)".utf8)
        request.addValue("letmein", forHTTPHeaderField: "X-Token")
        request.addValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        return request
    }
}

private struct Signer: Authorizer {
    func fetchAuthValue(
        socketID: String, channelName: String, completionHandler: @escaping @Sendable (PusherAuth?) -> Void
    ) {
        guard channelName != "private-nil" else { return completionHandler(nil) }
        completionHandler(try? Self.sign(socketID, channelName))
        completionHandler(nil)  // a second answer is ignored
    }

    static func sign(_ socketID: String, _ channel: String) throws -> PusherAuth {
        let id = try #require(SocketID(socketID))
        let credentials = AppCredentials(
            key: PusherMockServer.App.defaultKey, secret: PusherMockServer.App.defaultSecret)
        return PusherAuth(auth: credentials.channelAuth(socketID: id, channel: try ChannelName(channel)))
    }
}

extension PusherMockServer.State {
    var authRequests: [PusherMockServer.AuthRequest] {
        history.compactMap { if case .authRequest(let request) = $0 { request } else { nil } }
    }
}
