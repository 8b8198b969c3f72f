import Basics
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// A temporary failure thrown by the application's code is retried like one of an endpoint.
@Suite(.overSockets)
struct TemporaryFailureTests {
    /// Fails a given number of times, then signs.
    private final class Signer: BatchAuthorizer {
        private let failures: Lock<Int>
        private let credentials = AppCredentials(
            key: PusherMockServer.App.defaultKey, secret: PusherMockServer.App.defaultSecret)

        init(failures: Int) {
            self.failures = Lock(failures)
        }

        func authorize(socketID: String, channelNames: [String]) async throws -> [String: PusherAuth] {
            try mayFail()
            var answers: [String: PusherAuth] = [:]
            for name in channelNames {
                guard let socketID = SocketID(socketID) else { continue }
                answers[name] = PusherAuth(
                    auth: credentials.channelAuth(socketID: socketID, channel: try ChannelName(name)))
            }
            return answers
        }

        func authorizeUser(socketID: String) async throws -> PusherUserAuth {
            try mayFail()
            let userData = #"{"id":"u1"}"#
            let auth = SocketID(socketID).map { credentials.userAuth(socketID: $0, userData: userData) }
            return PusherUserAuth(auth: auth ?? "", userData: userData)
        }

        private func mayFail() throws {
            let failuresLeft = failures.withLock { count in
                count -= 1
                return count
            }
            if failuresLeft >= 0 { throw PusherTemporaryFailure("the database is busy") }
        }
    }

    enum Way: CaseIterable {
        case provider, batch
    }

    private let recorder = Recorder()

    private func client(_ server: PusherMockServer, _ way: Way, _ signer: Signer) -> Pusher {
        Pusher.make(server, recorder) { options in
            options.authRetryDelay = .milliseconds(10)
            options.userAuthMethod = .provider { try await signer.authorizeUser(socketID: $0) }
            switch way {
            case .provider:
                options.authMethod = .provider { socketID, channel in
                    let answers = try await signer.authorize(socketID: socketID, channelNames: [channel])
                    return answers[channel] ?? PusherAuth(auth: "")
                }
            case .batch: options.authMethod = .batch(authorizer: signer)
            }
        }
    }

    @Test(arguments: Way.allCases)
    func aSubscriptionGetsThroughAtTheThirdAttempt(way: Way) async throws {
        try await withServer { server in
            let pusher = client(server, way, Signer(failures: 2))
            let channel = pusher.subscribe("private-x")
            pusher.connect()
            try await channel.subscribed()
            #expect(recorder.count("failed: the database is busy; will retry at once") == 2)
            #expect(recorder.count("failed private-x") == 0)
        }
    }

    @Test(arguments: Way.allCases)
    func aSubscriptionFailsAfterTheLastAttemptAllowed(way: Way) async throws {
        try await withServer { server in
            let pusher = client(server, way, Signer(failures: 3))
            let channel = pusher.subscribe("private-x")
            pusher.connect()
            let error = await #expect(throws: PusherError.self) { try await channel.subscribed() }
            #expect(error?.message.hasSuffix("failed: the database is busy") == true)
            #expect(error?.willRetry == false)
            #expect(recorder.count("will retry") == 2)
        }
    }

    @Test func aSignInGetsThroughAtTheThirdAttempt() async throws {
        try await withServer { server in
            let pusher = client(server, .provider, Signer(failures: 2))
            pusher.connect()
            let id = try await pusher.user.signedIn()
            #expect(id == "u1")
            #expect(
                recorder.count("signing in failed: the user auth provider failed: the database is busy; will retry")
                    == 2)
        }
    }
}
