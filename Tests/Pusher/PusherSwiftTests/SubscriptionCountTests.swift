import Basics
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import Realtime
import TestSupport
import Testing
import Transport

struct SubscriptionCountTests {
    private let recorder = Recorder()

    @Test(.overSockets, .regression("Subscription counts did not reach bindings."))
    func subscriptionCountsReachBindingsToo() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe(
                "c", onSubscriptionCountChanged: { [recorder] in recorder.add("callback \($0)") })
            channel.bind(eventName: "pusher:subscription_count") { [recorder] event in
                recorder.add("bound \(event.data ?? "")")
            }
            pusher.bind { [recorder] event in
                if event.eventName == "pusher:subscription_count" { recorder.add("global \(event.data ?? "")") }
            }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed c"))
            try await server.send(
                raw:
                    #"{"event":"pusher_internal:subscription_count","channel":"c","data":"{\"subscription_count\":7}"}"#,
                to: try #require(pusher.connection.socketId))
            #expect(await recorder.waitFor(#"bound {"subscription_count":7}"#))
            #expect(recorder.contains("callback 7"))
            #expect(recorder.contains(#"global {"subscription_count":7}"#))
            #expect(channel.subscriptionCount == 7)
        }
    }
}
