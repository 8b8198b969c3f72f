import Basics
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// Batch requests for signatures, and other options of auth requests.
@Suite(.overSockets)
struct BatchAuthorizationTests {
    /// Signs like an application's server, except for channels named `private-no`.
    private final class Signer: BatchAuthorizer {
        let calls = Lock<[Int]>([])

        func authorize(socketID: String, channelNames: [String]) async throws -> [String: PusherAuth] {
            calls.withLock { $0.append(channelNames.count) }
            let credentials = AppCredentials(
                key: PusherMockServer.App.defaultKey, secret: PusherMockServer.App.defaultSecret)
            var answers: [String: PusherAuth] = [:]
            for name in channelNames where name != "private-no" {
                guard let socketID = SocketID(socketID) else { continue }
                let auth = credentials.channelAuth(socketID: socketID, channel: try ChannelName(name))
                answers[name] = PusherAuth(auth: auth)
            }
            return answers
        }
    }

    /// Answers when released, even if its callers no longer wait.
    private final class SlowSigner: BatchAuthorizer {
        private struct State {
            var running = 0
            var highest = 0
            var mayAnswer = false
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        private let state = Lock(State())
        private let signer = Signer()

        var runningCount: Int { state.withLock { $0.running } }

        var highestCount: Int { state.withLock { $0.highest } }

        func letGo() {
            let waiting = state.withLock { state in
                state.mayAnswer = true
                defer { state.waiting = [] }
                return state.waiting
            }
            for call in waiting { call.resume() }
        }

        func authorize(socketID: String, channelNames: [String]) async throws -> [String: PusherAuth] {
            state.withLock { state in
                state.running += 1
                state.highest = max(state.highest, state.running)
            }
            defer { state.withLock { $0.running -= 1 } }
            await withCheckedContinuation { call in
                let mustWait = state.withLock { state in
                    if !state.mayAnswer { state.waiting.append(call) }
                    return !state.mayAnswer
                }
                if !mustWait { call.resume() }
            }
            return try await signer.authorize(socketID: socketID, channelNames: channelNames)
        }
    }

    private struct Unlucky: BatchAuthorizer {
        struct Failure: Error {}

        func authorize(socketID: String, channelNames: [String]) async throws -> [String: PusherAuth] {
            throw Failure()
        }
    }

    private let recorder = Recorder()

    @Test func tenThousandChannelsCostAHandfulOfRequestsAfterAReconnect() async throws {
        let signer = Signer()
        try await withServer(.init(historyLimit: 16)) { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .batch(authorizer: signer)
                $0.subscriptionTimeout = .seconds(120)
            }
            for number in 0..<10_000 { pusher.subscribe("private-\(number)") }
            pusher.connect()
            #expect(await server.waitFor(within: .seconds(120)) { $0.connections.first?.channels.count == 10_000 })
            let socketID = try #require(pusher.connection.socketId)
            signer.calls.withLock { $0 = [] }
            try await server.inject(.dropTCP, into: socketID)
            #expect(
                await server.waitFor(within: .seconds(120)) {
                    $0.connections.first.map { $0.socketID != socketID && $0.channels.count == 10_000 } ?? false
                })
            #expect(signer.calls.withLock { $0 } == [2500, 2500, 2500, 2500])
        }
    }

    /// A call counts until it returns, even if it is cancelled.
    @Test func fewCallsAreUnderWayAtATime() async throws {
        let signer = SlowSigner()
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .batch(authorizer: signer)
                $0.maximumAuthRequests = 2
                $0.maximumChannelsPerAuthRequest = 1
            }
            for number in 0..<5 { pusher.subscribe("private-\(number)") }
            pusher.connect()
            #expect(await eventually { signer.runningCount == 2 })
            pusher.unsubscribe("private-0")
            pusher.unsubscribe("private-1")
            let other = pusher.subscribe("c")
            try await other.subscribed()
            #expect(signer.runningCount == 2)
            signer.letGo()
            for number in 2..<5 { #expect(await recorder.waitFor("subscribed private-\(number)")) }
            #expect(signer.highestCount == 2)
        }
    }

    @Test func aChannelThatIsLeftOutFailsAlone() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) { $0.authMethod = .batch(authorizer: Signer()) }
            pusher.subscribe("private-no")
            pusher.subscribe("private-yes")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed private-yes"))
            #expect(await recorder.waitFor("the batch authorizer's answer does not have it"))
        }
    }

    @Test func whatItThrowsFailsAllOfThem() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) { $0.authMethod = .batch(authorizer: Unlucky()) }
            pusher.subscribe("private-a")
            pusher.subscribe("private-b")
            pusher.connect()
            #expect(await recorder.waitFor("the batch authorizer failed with Failure", count: 2))
        }
    }

    @Test func anAsyncFunctionMaySign() async throws {
        let signer = Signer()
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .provider { socketID, channelName in
                    let answers = try await signer.authorize(socketID: socketID, channelNames: [channelName])
                    guard let auth = answers[channelName] else { throw Unlucky.Failure() }
                    return auth
                }
            }
            pusher.subscribe("private-no")
            pusher.subscribe("private-yes")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed private-yes"))
            #expect(await recorder.waitFor("the auth provider failed with Failure"))
        }
    }

    @Test func headersAndParametersAreAskedForEachTime() async throws {
        let tokens = Lock(0)
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(server.port)/pusher/auth")
                $0.authHeaders = {
                    ["Authorization": "token \(tokens.withLock { $0 += 1; return $0 })", "Accept": "text/plain"]
                }
                $0.authParameters = { ["tenant": "a&b"] }
            }
            pusher.subscribe("private-a")
            pusher.subscribe("private-b")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed", count: 2))
            let requests = await server.state.authRequests
            #expect(Set(requests.map { $0.headers["authorization"] }) == ["token 1", "token 2"])
            #expect(requests.map { $0.headers["accept"] } == ["text/plain", "text/plain"])
            #expect(requests.map { $0.parameters["tenant"] } == ["a&b", "a&b"])
        }
    }

    @Test func anEndpointThatIsDownForAMomentIsAskedAgain() async throws {
        try await withServer { server in
            await server.failAuth(.respond(status: 503), next: 2)
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(server.port)/pusher/auth")
                $0.authRetryDelay = .milliseconds(10)
            }
            pusher.subscribe("private-a")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed private-a"))
            #expect(recorder.count("answered 503; will retry at once") == 2)
            #expect(recorder.count("failed private-a") == 0)
        }
    }
}
