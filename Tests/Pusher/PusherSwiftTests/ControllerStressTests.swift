import Basics
import CurlTransport
import Logging
import PusherMockServer
import PusherProtocol
import PusherTestSupport
import Realtime
import TestSupport
import Testing

@testable import PusherSwift

/// Controllers that own their client and are its delegate. They may be released at any moment of the client. Releasing
/// an object under a lock stops the program in debug builds, and the I/O thread in release builds.
@Suite(.overSockets)
struct ControllerStressTests {
    private final class Controller: PusherDelegate {
        let pusher: Pusher
        private let onEnd: @Sendable () -> Void

        init(_ options: PusherClientOptions, onEnd: @escaping @Sendable () -> Void) {
            pusher = Pusher(key: PusherMockServer.App.defaultKey, options: options)
            self.onEnd = onEnd
            pusher.delegate = self
        }

        deinit {
            pusher.disconnect()
            pusher.delegate = nil
            onEnd()
        }

        /// Makes the client report each message to the delegate.
        func debugLog(message: String) {}
    }

    /// Options without a log, since released delegates are expected here.
    private static var quietOptions: PusherClientOptions {
        var options = PusherClientOptions()
        options.logger = Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
        return options
    }

    /// The I/O thread uses the delegate as if messages came continuously, and the delegate is released in the middle.
    @Test func delegatesGoWhileTheyAreAskedFor() async {
        let ended = Lock(0)
        let count = 3000
        for round in 0..<count {
            var controller: Controller? = Controller(Self.quietOptions) { ended.withLock { $0 += 1 } }
            let isAsked = Lock(false)
            if let core = controller?.pusher.core {
                NetworkActor.execute { [weak core] in
                    isAsked.withLock { $0 = true }
                    for _ in 0..<50 { core?.logSent(.pong) }
                }
            }
            while !isAsked.withLock({ $0 }) {}
            for _ in 0..<round % 50 { isAsked.withLock { _ in } }
            controller = nil
        }
        #expect(await eventually { ended.withLock { $0 } == count })
    }

    @Test func controllersComeAndGoUnderAFlood() async throws {
        try await withServer { server in
            let (ended, seen) = (Lock(0), Lock(0))
            let flood = Task {
                while !Task.isCancelled { await server.publish(event: "e", channel: "flood", data: "1") }
            }
            for _ in 0..<40 {
                let old = seen.withLock { $0 }
                var controllers: [Controller] = []
                for _ in 0..<5 {
                    let controller = Controller(.local(server)) { ended.withLock { $0 += 1 } }
                    controller.pusher.subscribe("flood").bind { _ in seen.withLock { $0 += 1 } }
                    controller.pusher.connect()
                    controllers.append(controller)
                }
                #expect(await eventually { seen.withLock { $0 } > old + 50 })
                withExtendedLifetime(controllers) {}
                controllers = []
            }
            flood.cancel()
            #expect(await eventually { ended.withLock { $0 } == 200 })
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
        }
    }

    /// Released by the reader, by the buffer that drops them, and with the sequence.
    @Test(arguments: [.suspend(limit: 16), .dropOldest(limit: 4), .fail(limit: 4)] as [EventBufferingPolicy])
    func valuesThatUnsubscribeWhenTheyAreReleased(policy: EventBufferingPolicy) async {
        let core = ClientCore(key: "k", options: PusherClientOptions())
        let (made, released) = (Lock(0), Lock(0))
        for number in 0..<200 {
            let name = "c-\(number)"
            let channel = core.subscribe(to: name, handlers: .init())
            let sequence: EventSequence<Token> = core.events(
                on: channel.id, channelName: name, named: nil, policy: policy
            ) { _ in
                made.withLock { $0 += 1 }
                return Token { [weak core] in
                    core?.unsubscribe(from: name)
                    released.withLock { $0 += 1 }
                }
            }
            for _ in 0..<8 { core.hub.deliver(RealtimeEvent(name: "e", channel: name, data: nil), on: channel.id) }
            if number % 2 == 0 { for await _ in sequence {} }
        }
        #expect(made.withLock { $0 } == released.withLock { $0 } && core.allChannels.isEmpty)
        core.shutDown()
    }
}
