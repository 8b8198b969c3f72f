import Basics
import Dispatch
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// Remnants of a released client.
struct ClientEndTests {
    private let recorder = Recorder()

    // MARK: The end of a client

    @Test(.overSockets, .regression("Clients were kept alive by their own closures."))
    func aThousandClientsLeaveNothingBehind() async throws {
        try await withServer { server in
            let released = Lock(0)
            for _ in 0..<10 {
                var clients: [Pusher] = []
                for _ in 0..<100 {
                    let token = Token { released.withLock { $0 += 1 } }
                    // Bindings are released early; the options live as long as any part of the client.
                    let core = Token { released.withLock { $0 += 1 } }
                    var options = PusherClientOptions.local(server)
                    options.authHeaders = { [core] in
                        _ = core
                        return [:]
                    }
                    let pusher = Pusher(key: PusherMockServer.App.defaultKey, options: options)
                    let connection = pusher.connection
                    let channel = pusher.subscribe("private-c", onMemberAdded: { _ in _ = (token, connection) })
                    channel.bind { _ in _ = (token, channel, connection) }
                    pusher.bind { _ in _ = (token, channel) }
                    pusher.connect()
                    clients.append(pusher)
                }
                #expect(await server.waitFor { $0.subscribers(of: "private-c").count == 100 })
                clients = []
                #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
            }
            #expect(await eventually { released.withLock { $0 } == 2000 })
        }
    }

    /// When the client goes, one callback is running and many are pending.
    @Test(.overSockets, .regression("Callbacks came after the client was gone."))
    func nothingIsCalledBackAfterTheClientIsGone() async throws {
        try await withServer { server in
            let queue = DispatchQueue(label: "callbacks")
            let gate = Gate()
            var pusher: Pusher? = Pusher.make(server, recorder) { $0.callbackQueue = .queue(queue) }
            let channel = pusher?.subscribe("c")
            channel?.bind(eventName: "e") { [recorder] event in
                recorder.add("event \(event.data ?? "")")
                gate.wait()
            }
            pusher?.connect()
            #expect(await recorder.waitFor("subscribed c"))
            for number in 1...100 { await server.publish(event: "e", channel: "c", data: "\(number)") }
            #expect(await recorder.waitFor("event 1"))
            pusher = nil
            let told = recorder.all
            gate.open()
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
            await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
            #expect(recorder.all == told)
            #expect(told.count { $0.hasPrefix("event") } == 1)
        }
    }
}
