import Basics
import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing
import Transport

/// Cache channels and subscription counts with each kind of server.
@Suite(.overSockets)
struct CacheAndCountTests {
    private let recorder = Recorder()

    @Test(arguments: Profile.allCases, ["cache-x", "private-cache-x", "presence-cache-x"])
    func theLastEventComesWithTheSubscriptionAndAgainWithAReconnect(profile: Profile, name: String) async throws {
        try await withServer(profile) { server in
            await server.publish(event: "e", channel: name, data: "1")
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe(name)
            channel.bind(eventName: "e") { [recorder] in recorder.add("e\($0.data ?? "") \($0.origin)") }
            pusher.connect()
            #expect(await recorder.waitFor("e1 cache"))
            await server.publish(event: "e", channel: name, data: "2")
            #expect(await recorder.waitFor("e2 live"))
            try await server.inject(.dropTCP, into: #require(pusher.connection.socketId))
            #expect(await recorder.waitFor("e2 repeatedCache"))
        }
    }

    @Test(arguments: Profile.allCases)
    func anEncryptedCacheOpens(profile: Profile) async throws {
        let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        try await withServer(.init(apps: [.init(encryptionMasterKey: key)], profile: profile)) { server in
            await server.publish(event: "e", channel: "private-encrypted-cache-x", data: "hi")
            let pusher = Pusher.make(server, recorder) { $0.encryptionMasterKey = key }
            pusher.subscribe("private-encrypted-cache-x").bind(eventName: "e") { [recorder] in
                recorder.add("\($0.data ?? "") \($0.origin)")
            }
            pusher.connect()
            #expect(await recorder.waitFor("hi cache"))
        }
    }

    @Test(arguments: Profile.allCases)
    func anEmptyCacheSaysSo(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("cache-x")
            channel.bind { [recorder] in recorder.add($0.eventName) }
            pusher.connect()
            #expect(await recorder.waitFor("pusher:cache_miss"))
            #expect(recorder.all.suffix(2) == ["pusher:subscription_succeeded", "pusher:cache_miss"])
        }
    }

    @Test(arguments: Profile.allCases)
    func countsReachPropertyCallbackAndBindings(profile: Profile) async throws {
        let configuration = PusherMockServer.Configuration(
            apps: [.init(sendsSubscriptionCounts: true)], profile: profile)
        try await withServer(configuration) { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe(
                "c", onSubscriptionCountChanged: { [recorder] in recorder.add("count \($0)") })
            channel.bind(eventName: "pusher:subscription_count") { [recorder] in recorder.add("bound \($0.data ?? "")")
            }
            pusher.connect()
            #expect(await recorder.waitFor("count 1"))
            let other = Pusher.make(server, Recorder())
            other.subscribe("c")
            other.connect()
            #expect(await recorder.waitFor("count 2"))
            #expect(channel.subscriptionCount == 2)
            #expect(await recorder.waitFor(#"bound {"subscription_count":2}"#))
            other.disconnect()
            #expect(await recorder.waitFor("count 1", count: 2))
        }
    }

    @Test func countsOfPresenceChannelsAreToldToo() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribeToPresenceChannel(
                channelName: "presence-x", onSubscriptionCountChanged: { [recorder] in recorder.add("count \($0)") })
            pusher.connect()
            try await channel.subscribed()
            let frame =
                #"{"event":"pusher_internal:subscription_count","channel":"presence-x","data":"{\"subscription_count\":0}"}"#
            try await server.send(raw: frame, to: #require(pusher.connection.socketId))
            #expect(await recorder.waitFor("count 0"))
            #expect(channel.subscriptionCount == 0)
        }
    }
}
