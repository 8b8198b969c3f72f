import Basics
import Dispatch
import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// Once a client is gone, none of the application's closures are called.
@Suite(.overSockets)
struct ShutDownTests {
    /// Records the calls; its first callback waits.
    private final class Application: PusherDelegate, Authorizer, AuthRequestBuilderProtocol, BatchAuthorizer {
        let calls = Recorder()
        let gate = Gate()

        func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
            guard new == .connected else { return }
            calls.add("connected")
            gate.wait()
        }

        func fetchAuthValue(
            socketID: String, channelName: String, completionHandler: @escaping @Sendable (PusherAuth?) -> Void
        ) {
            calls.add("authorizer")
        }

        func requestFor(socketID: String, channelName: String) -> URLRequest? {
            calls.add("builder")
            return nil
        }

        func authorize(socketID: String, channelNames: [String]) async throws -> [String: PusherAuth] {
            calls.add("batch")
            return [:]
        }
    }

    enum Closure: CaseIterable {
        case authorizer, builder, userDataFetcher
    }

    /// The closures wait in the callback queue while the client goes.
    @Test(arguments: Closure.allCases) func aClosureThatWaitsInTheCallbackQueueIsNotCalled(closure: Closure)
        async throws
    {
        try await withServer { server in
            let (application, queue) = (Application(), DispatchQueue(label: "callbacks"))
            queue.suspend()
            var options = PusherClientOptions.local(server)
            options.callbackQueue = .queue(queue)
            switch closure {
            case .authorizer: options.authMethod = .authorizer(authorizer: application)
            case .builder: options.authMethod = .authRequestBuilder(authRequestBuilder: application)
            case .userDataFetcher: break
            }
            var pusher: Pusher? = Pusher(key: PusherMockServer.App.defaultKey, options: options)
            pusher?.delegate = application
            pusher?.connection.userDataFetcher = {
                application.calls.add("fetcher")
                return PusherPresenceChannelMember(userId: "u")
            }
            pusher?.subscribe("presence-x")
            pusher?.connect()
            let connection = try #require(pusher?.connection)
            #expect(await eventually { connection.socketId != nil })
            // The I/O thread handles it before it connects another client.
            let other = Pusher(key: PusherMockServer.App.defaultKey, options: .local(server))
            try await other.connected()
            queue.resume()
            #expect(await application.calls.waitFor("connected"))
            pusher = nil
            application.gate.open()
            await withCheckedContinuation { done in queue.async { done.resume() } }
            #expect(application.calls.all == ["connected"])
        }
    }

    /// After the request for its headers, the client goes before the one for its parameters.
    @Test func anAsyncClosureIsNotCalledOnceTheClientIsGone() async throws {
        try await withServer { server in
            let calls = Recorder()
            let (held, release) = AsyncStream<Never>.makeStream()
            var pusher: Pusher? = client(of: server, calls, heldBy: held)
            pusher?.subscribe("private-x")
            pusher?.connect()
            #expect(await calls.waitFor("headers"))
            pusher = nil
            release.finish()
            #expect(await calls.waitFor("let go of"))
            #expect(calls.all == ["headers", "let go of"])
            #expect(await server.state.authRequestCount == 0)
        }
    }

    private func client(of server: PusherMockServer, _ calls: Recorder, heldBy held: AsyncStream<Never>) -> Pusher {
        var options = PusherClientOptions.local(
            server, authMethod: .endpoint(authEndpoint: "http://127.0.0.1:\(server.port)/pusher/auth"))
        options.authHeaders = {
            calls.add("headers")
            await Task { for await _ in held {} }.value  // cancellation does not end it
            return [:]
        }
        let token = Token { calls.add("let go of") }
        options.authParameters = {
            calls.add("parameters")
            return withExtendedLifetime(token) { [:] }
        }
        return Pusher(key: PusherMockServer.App.defaultKey, options: options)
    }

    @Test func aGlobalBindingIsNotCalledOnceAnotherHasLetGoOfTheClient() async throws {
        try await withServer { server in
            let (calls, queue) = (Recorder(), DispatchQueue(label: "callbacks"))
            let owner = Lock<Pusher?>(Pusher.make(server, calls) { $0.callbackQueue = .queue(queue) })
            owner.withLock { pusher in
                pusher?.bind { (event: PusherEvent) in
                    guard event.eventName == "e" else { return }
                    calls.add("first")
                    let client = owner.withLock { owner in
                        defer { owner = nil }
                        return owner
                    }
                    withExtendedLifetime(client) {}
                }
                pusher?.bind { (event: PusherEvent) in if event.eventName == "e" { calls.add("second") } }
                pusher?.subscribe("c")
                pusher?.connect()
            }
            #expect(await server.waitFor { $0.subscribers(of: "c").count == 1 })
            await server.publish(event: "e", channel: "c", data: "")
            #expect(await calls.waitFor("first"))
            await withCheckedContinuation { done in queue.async { done.resume() } }
            #expect(!calls.contains("second"))
        }
    }
}
