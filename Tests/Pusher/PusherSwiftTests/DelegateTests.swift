import Basics
import CurlTransport
import Dispatch
import PusherMockServer
import PusherTestSupport
import TestSupport
import Testing

@testable import PusherSwift

/// Debug messages to a delegate, and the reports after it is gone.
@Suite(.overSockets)
struct DelegateTests {
    /// A delegate with its own debug log.
    private final class Listener: PusherDelegate {
        private let lines = Lock<[String]>([])

        var all: [String] { lines.withLock { $0 } }

        func has(_ start: String) async -> Bool { await eventually { self.all.contains { $0.hasPrefix(start) } } }

        func debugLog(message: String) { lines.withLock { $0.append(message) } }
    }

    /// Forwards everything to other delegates, one of which has no debug log of its own.
    private final class Relay: PusherDelegate {
        let listeners: [any PusherDelegate]

        init(_ listeners: any PusherDelegate...) { self.listeners = listeners }

        func debugLog(message: String) {
            for listener in listeners { listener.debugLog(message: message) }
        }
    }

    private static let goneText = "warning the delegate is gone"

    private func withPusher(
        of delegate: any PusherDelegate, _ body: (Pusher, PusherMockServer) async throws -> Void
    ) async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, Recorder())
            pusher.delegate = delegate
            pusher.connect()
            try await body(pusher, server)
            pusher.disconnect()
        }
    }

    @Test func messagesAreToldWithoutWhatIsInThem() async throws {
        let listener = Listener()
        try await withPusher(of: listener) { pusher, server in
            let channel = pusher.subscribe("private-a")
            #expect(await listener.has("connection state: connecting → connected"))
            #expect(await listener.has("received pusher:connection_established, "))
            #expect(await listener.has("sent pusher:subscribe for channel private-a"))
            #expect(
                await listener.has("received pusher_internal:subscription_succeeded on channel private-a, "))
            await server.publish(event: "price", channel: "private-a", data: #"{"amount":"hidden"}"#)
            #expect(await listener.has("received price on channel private-a, "))
            channel.trigger(eventName: "client-typing", data: ["text": "hidden"])
            #expect(await listener.has("sent client-typing on channel private-a, 17 bytes of data"))
            pusher.unsubscribe("private-a")
            #expect(await listener.has("sent pusher:unsubscribe for channel private-a"))
            let socketID = try #require(pusher.connection.socketId)
            try await server.inject(.text(#"["hidden"]"#), into: socketID)
            #expect(await listener.has("received a message that is not of the protocol, 10 bytes"))
            #expect(!listener.all.contains { $0.contains("hidden") })
            #expect(!listener.all.contains { $0.contains("auth") })
        }
    }

    @Test func aMessageIsToldBeforeWhatFollowsFromIt() async throws {
        let listener = Listener()
        try await withPusher(of: listener) { pusher, _ in
            pusher.subscribe("a")
            #expect(await listener.has("subscribed to channel a"))
            let lines = listener.all
            let receipt = try #require(
                lines.firstIndex { $0.hasPrefix("received pusher_internal:subscription_succeeded on channel a") })
            #expect(receipt < (try #require(lines.firstIndex(of: "subscribed to channel a"))))
        }
    }

    @Test func nothingIsPutIntoWordsForADelegateWithTheDefault() async throws {
        let recorder = Recorder()
        try await withPusher(of: recorder) { pusher, _ in
            #expect(await recorder.waitFor("→ connected"))
            #expect(pusher.connection.core.callbacks.withLock { $0.delegate.debugLog } == .inherited)
            #expect(pusher.connection.core.callbacks.withLock { !$0.delegate.wantsDebugLog })
        }
    }

    @Test func aDelegateThatPassesMessagesOnGoesOnGettingThem() async throws {
        let listener = Listener()
        let relay = Relay(Recorder(), listener)
        try await withPusher(of: relay) { pusher, server in
            pusher.subscribe("a")
            #expect(await listener.has("subscribed to channel a"))
            #expect(pusher.connection.core.callbacks.withLock { $0.delegate.debugLog } == .own)
        }
    }

    // MARK: Released delegates

    @Test func aDelegateThatNobodyKeepsIsReportedOnce_beforeAnythingElseHappens() async throws {
        try await withServer { server in
            let lines = LogLines()
            // The check must not overtake the end of the statement that makes the delegate.
            let isMade = DispatchSemaphore(value: 0)
            NetworkActor.execute { isMade.wait() }
            let (kept, pusher) = (Recorder(), Pusher.make(server, Recorder()) { $0.logger = lines.logger })
            isMade.signal()
            #expect(await eventually { lines.contains(Self.goneText) })
            pusher.connect()
            #expect(await eventually { pusher.connection.connectionState == .connected })
            #expect(lines.all.count { $0.hasPrefix(Self.goneText) } == 1)

            pusher.connection.delegate = kept
            pusher.disconnect()
            #expect(await kept.waitFor("→ disconnected"))
            #expect(lines.all.count { $0.hasPrefix(Self.goneText) } == 1)
        }
    }

    @Test func aDelegateThatGoesBeforeTheConnectionIsThereIsReported() async throws {
        try await withServer { server in
            await server.failHandshakes(.httpStatus(503))
            let lines = LogLines()
            var recorder: Recorder? = Recorder()
            let pusher = Pusher.make(server, try #require(recorder)) {
                $0.logger = lines.logger
                $0.reconnectPolicy = .exponential(maximumDelay: .milliseconds(5))
            }
            pusher.connect()
            #expect(await recorder?.waitFor("→ reconnecting") == true)
            #expect(!lines.contains(Self.goneText))
            recorder = nil
            #expect(await eventually { lines.contains(Self.goneText) })
            pusher.disconnect()
        }
    }

    @Test func aDelegateThatWasKept_orTakenAway_isNotReported() async throws {
        try await withServer { server in
            let lines = LogLines()
            var recorder: Recorder? = Recorder()
            let pusher = Pusher.make(server, try #require(recorder)) { $0.logger = lines.logger }
            pusher.connect()
            #expect(await recorder?.waitFor("→ connected") == true)
            recorder = nil
            pusher.disconnect()
            #expect(await eventually { pusher.connection.connectionState == .disconnected })

            let other = Recorder()
            pusher.delegate = other
            pusher.delegate = nil
            pusher.connect()
            #expect(await eventually { pusher.connection.connectionState == .connected })
            await pusher.connection.core.afterCallbacks()
            #expect(!lines.contains(Self.goneText))
            pusher.disconnect()
        }
    }
}

extension ClientCore {
    /// Returns after all pending callbacks.
    fileprivate func afterCallbacks() async {
        await withCheckedContinuation { continuation in runCallback { continuation.resume() } }
    }
}
