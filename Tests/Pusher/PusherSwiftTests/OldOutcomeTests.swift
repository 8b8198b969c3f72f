import Basics
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// Callbacks may be late. A caller that waits for an outcome must not get one older than the wait.
@Suite(.overSockets)
struct OldOutcomeTests {
    private struct Refused: Error {}

    /// Refuses the first request, and answers the second on demand.
    private final class Signer: Sendable {
        private let calls = Lock(0)
        private let mayAnswer = Lock(false)

        var callCount: Int { calls.withLock { $0 } }

        func answer() { mayAnswer.withLock { $0 = true } }

        func signature<Value>(_ value: Value) async throws -> Value {
            if calls.withLock({
                $0 += 1; return $0
            }) == 1 {
                throw Refused()
            }
            _ = await eventually { self.mayAnswer.withLock { $0 } }
            return value
        }
    }

    private let recorder = Recorder()
    private let signer = Signer()
    private let gate = Gate()
    private let credentials = AppCredentials(
        key: PusherMockServer.App.defaultKey, secret: PusherMockServer.App.defaultSecret)

    /// Returns a connected client whose callbacks wait for the gate.
    private func makeStopped(
        _ server: PusherMockServer, _ change: (inout PusherClientOptions) -> Void
    ) async throws -> Pusher {
        let pusher = Pusher.make(server, recorder, change)
        try await pusher.connected()
        pusher.subscribe("c").bind(eventName: "stop") { [recorder, gate] _ in
            recorder.add("stopped")
            gate.wait()
        }
        #expect(await recorder.waitFor("subscribed c"))
        await server.publish(event: "stop", channel: "c", data: "")
        #expect(await recorder.waitFor("stopped"))
        return pusher
    }

    @Test func aFailedSignInIsNotTheOutcomeOfTheNext() async throws {
        try await withServer { server in
            let pusher = try await makeStopped(server) { [signer, credentials] options in
                options.userAuthMethod = .provider { text in
                    guard let socketID = SocketID(text) else { throw Refused() }
                    let userData = #"{"id":"u1"}"#
                    let auth = credentials.userAuth(socketID: socketID, userData: userData)
                    return try await signer.signature(PusherUserAuth(auth: auth, userData: userData))
                }
            }
            // The second attempt begins only after the first has failed, which has not been reported yet.
            #expect(
                await eventually {
                    pusher.user.signIn()
                    return signer.callCount == 2
                })
            let waiter = Task.immediate { try await pusher.user.signedIn() }
            gate.open()
            #expect(await recorder.waitFor("signing in failed"))
            signer.answer()
            let id = try await waiter.value
            #expect(id == "u1")
        }
    }

    @Test func aFailedSubscriptionIsNotTheOutcomeOfTheNext() async throws {
        try await withServer { server in
            let pusher = try await makeStopped(server) { [signer, credentials] options in
                options.authMethod = .provider { text, channel in
                    guard let socketID = SocketID(text) else { throw Refused() }
                    let auth = credentials.channelAuth(socketID: socketID, channel: try ChannelName(channel))
                    return try await signer.signature(PusherAuth(auth: auth))
                }
            }
            let channel = pusher.subscribe("private-x")
            #expect(
                await eventually {
                    pusher.subscribe("private-x")
                    return signer.callCount == 2
                })
            let waiter = Task.immediate { try await channel.subscribed() }
            gate.open()
            #expect(await recorder.waitFor("failed private-x"))
            signer.answer()
            try await waiter.value
            #expect(channel.subscribed)
        }
    }
}
