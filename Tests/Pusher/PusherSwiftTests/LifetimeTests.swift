import Basics
import Dispatch
import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct LifetimeTests {
    private let recorder = Recorder()

    @Test func droppingTheLastReferenceClosesTheConnection() async throws {
        try await withServer { server in
            var pusher: Pusher? = Pusher.make(server, recorder)
            let channel = pusher?.subscribe("c")
            channel?.bind(eventName: "e") { [recorder] _ in recorder.add("event") }
            let connection = pusher?.connection
            pusher?.connect()
            #expect(await recorder.waitFor("subscribed"))
            pusher = nil
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
            #expect(connection?.connectionState == .disconnected)
            #expect(channel?.subscribed == false)
            connection?.connect()  // a handle cannot revive it
            channel?.trigger(eventName: "client-x", data: 1)
            #expect(connection?.connectionState == .disconnected)
            #expect(!recorder.contains("event") && !recorder.contains("→ disconnected"))
        }
    }

    @Test func aCallbackThatHoldsTheClientLetsGoOfItWhenUnbound() async throws {
        try await withServer { server in
            let weakPusher = WeakReference<Pusher>()
            do {
                let pusher = Pusher.make(server, recorder)
                weakPusher.object = pusher
                let id = pusher.bind { _ in _ = pusher }
                pusher.connect()
                #expect(await recorder.waitFor("→ connected"))
                pusher.unbind(callbackId: id)
            }
            #expect(await eventually { weakPusher.object == nil })
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
        }
    }

    @Test func aCallbackThatHoldsItsChannelKeepsNothingAlive() async throws {
        try await withServer { server in
            let weakChannel = WeakReference<PusherChannel>()
            do {
                let pusher = Pusher.make(server, recorder)
                let channel = pusher.subscribe("c")
                weakChannel.object = channel
                channel.bind(eventName: "e") { _ in _ = channel.subscribed }
                pusher.connect()
                #expect(await recorder.waitFor("subscribed"))
            }
            #expect(await eventually { weakChannel.object == nil })
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
        }
    }

    @Test func aThousandClientsComeAndGo() async throws {
        try await withServer { server in
            let released = Lock(0)
            for _ in 0..<20 {
                var clients: [Pusher] = []
                for _ in 0..<50 {
                    let token = Token { released.withLock { $0 += 1 } }
                    let pusher = Pusher(key: PusherMockServer.App.defaultKey, options: .local(server))
                    let channel = pusher.subscribe("private-c")
                    channel.bind { _ in _ = (token, channel) }
                    pusher.connect()
                    clients.append(pusher)
                }
                #expect(
                    await server.waitFor { $0.connectionCount == 50 && $0.subscribers(of: "private-c").count == 50 })
                clients = []
                #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
            }
            #expect(await eventually { released.withLock { $0 } == 1000 })
        }
    }

    @Test func callbacksRunWhereTheApplicationWants() async throws {
        try await withServer { server in
            let key = DispatchSpecificKey<String>()
            let queue = DispatchQueue(label: "mine")
            queue.setSpecific(key: key, value: "mine")
            for target in [PusherCallbackQueue.queue(queue), .inline] {
                let recorder = Recorder()
                let pusher = Pusher.make(server, recorder) { $0.callbackQueue = target }
                pusher.subscribe("c").bind(eventName: "e") { _ in
                    recorder.add("event on \(DispatchQueue.getSpecific(key: key) ?? "no queue")")
                }
                pusher.connect()
                #expect(await recorder.waitFor("subscribed"))
                await server.publish(event: "e", channel: "c", data: "")
                if case .inline = target {
                    #expect(await recorder.waitFor("event on no queue"))
                } else {
                    #expect(await recorder.waitFor("event on mine"))
                }
            }
        }
    }

    /// Concurrent calls from many threads end in the last requested state, with at most one connection.
    @Test func anyThreadMayCall() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        for round in 0..<50 {
                            let channel = pusher.subscribe("private-\(task)-\(round % 5)")
                            let id = channel.bind(eventName: "e") { _ in }
                            if round % 3 == 0 { pusher.connect() }
                            if round % 7 == 0 { pusher.disconnect() }
                            channel.unbind(eventName: "e", callbackId: id)
                            pusher.unsubscribe("private-\(task)-\((round + 1) % 5)")
                        }
                    }
                }
            }
            pusher.unsubscribeAll()
            pusher.subscribe("last")
            pusher.connect()
            #expect(await server.waitFor { $0.channels() == ["last"] && $0.tcpConnectionCount == 1 })
        }
    }
}
