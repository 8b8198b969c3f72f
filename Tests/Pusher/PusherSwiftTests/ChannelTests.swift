import Basics
import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct ChannelTests {
    private let recorder = Recorder()

    @Test(arguments: Profile.allCases) func publicPrivateAndPresenceChannelsReceiveEvents(profile: Profile) async throws
    {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            for name in ["public-channel", "private-channel", "presence-channel"] {
                pusher.subscribe(name).bind(eventName: "greeting") { [recorder] event in
                    recorder.add("\(event.channelName ?? "") \(event.eventName) \(event.data ?? "")")
                }
            }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed", count: 3))
            for name in ["public-channel", "private-channel", "presence-channel"] {
                await server.publish(event: "greeting", channel: name, data: #"{"to":"\#(name)"}"#)
                #expect(await recorder.waitFor(#"\#(name) greeting {"to":"\#(name)"}"#))
            }
            #expect(!recorder.contains("error"))
        }
    }

    @Test(arguments: Profile.allCases) func eventsOfOneConnectionKeepTheirOrder(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            for name in ["a", "b"] {
                pusher.subscribe(name).bind { [recorder] event in
                    if !event.eventName.hasPrefix("pusher") { recorder.add("e\(event.data ?? "")") }
                }
            }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed", count: 2))
            for number in 0..<2000 {
                await server.publish(event: "e", channel: number % 3 == 0 ? "a" : "b", data: "\(number)")
            }
            #expect(await recorder.waitFor("e1999"))
            #expect(recorder.all.filter { $0.hasPrefix("e") } == (0..<2000).map { "e\($0)" })
        }
    }

    @Test(arguments: Profile.allCases) func globalBindingsComeFirst(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            channel.bind(eventName: "e") { [recorder] _ in recorder.add("channel 1") }
            channel.bind { [recorder] event in recorder.add("channel all \(event.eventName)") }
            pusher.bind { [recorder] event in recorder.add("global \(event.eventName)") }
            pusher.connect()
            #expect(await recorder.waitFor("channel all pusher:subscription_succeeded"))
            await server.publish(event: "e", channel: "c", data: "")
            #expect(await recorder.waitFor("channel all e"))
            #expect(
                recorder.all.suffix(5) == [
                    "global pusher:subscription_succeeded", "channel all pusher:subscription_succeeded", "global e",
                    "channel 1", "channel all e",
                ])
        }
    }

    @Test(arguments: Profile.allCases) func bindingAndUnbindingInsideACallbackCountsFromTheNextEvent(profile: Profile)
        async throws
    {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            let ids = Ids()
            ids.value = channel.bind(eventName: "e") { [recorder] event in
                recorder.add("first \(event.data ?? "")")
                channel.unbind(eventName: "e", callbackId: ids.value)
                channel.bind(eventName: "e") { [recorder] event in recorder.add("second \(event.data ?? "")") }
            }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed"))
            await server.publish(event: "e", channel: "c", data: "1")
            await server.publish(event: "e", channel: "c", data: "2")
            #expect(await recorder.waitFor("second 2"))
            #expect(recorder.all.filter { $0.hasPrefix("first") || $0.hasPrefix("second") } == ["first 1", "second 2"])
        }
    }

    @Test(arguments: Profile.allCases) func unsubscribingStopsTheEventsAndTheServerKnows(profile: Profile) async throws
    {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            channel.bind(eventName: "e") { [recorder] _ in recorder.add("event") }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed"))
            #expect(channel.subscribed)
            pusher.unsubscribe("c")
            #expect(!channel.subscribed)
            #expect(pusher.connection.channels.find(name: "c") == nil)
            #expect(await server.waitFor { $0.channels().isEmpty })
            let again = pusher.subscribe("c")
            #expect(again !== channel)
            #expect(await recorder.waitFor("subscribed", count: 2))
            await server.publish(event: "e", channel: "c", data: "")
            pusher.unsubscribeAll()
            #expect(await server.waitFor { $0.channels().isEmpty })
            #expect(!recorder.contains("event"))
        }
    }

    @Test(arguments: Profile.allCases) func subscribingTwiceGivesTheSameChannelAndOneFrame(profile: Profile)
        async throws
    {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            #expect(pusher.subscribe("c") === channel)
            pusher.connect()
            #expect(await recorder.waitFor("subscribed"))
            #expect(pusher.subscribe(channelName: "c") === channel)
            #expect(pusher.connection.channels.find(name: "c") === channel)
            await server.publish(event: "e", channel: "c", data: "")
            #expect(await server.state.framesReceived(containing: "pusher:subscribe") == 1)
        }
    }

    @Test(arguments: Profile.allCases) func aNameThatBreaksTheRulesIsReported(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("no spaces")
            pusher.subscribeToPresenceChannel(channelName: "room")
            pusher.connect()
            #expect(await recorder.waitFor("error", count: 2))
            #expect(recorder.contains("“no spaces” cannot be a channel name"))
            #expect(recorder.contains("“room” is not the name of a presence channel"))
            #expect(!channel.subscribed)
            #expect(channel.bind(eventName: "e") { _ in } != "")
        }
    }

    // MARK: Presence

    @Test(arguments: Profile.allCases) func presenceChannelsKnowWhoIsThere(profile: Profile) async throws {
        try await withServer(profile) { server in
            let first = Pusher.make(server, recorder)
            first.connection.userDataFetcher = {
                PusherPresenceChannelMember(userId: "ann", userInfo: ["name": "Ann", "age": 7])
            }
            let channel = first.subscribeToPresenceChannel(
                channelName: "presence-room",
                onMemberAdded: { [recorder] in recorder.add("added \($0.userId)") },
                onMemberRemoved: { [recorder] in recorder.add("removed \($0.userId)") })
            first.connect()
            #expect(await recorder.waitFor("subscribed"))
            #expect(channel.myId == "ann")
            #expect(channel.me()?.userId == "ann")
            #expect((channel.me()?.userInfo as? [String: Any])?["name"] as? String == "Ann")
            #expect((channel.me()?.userInfo as? [String: Any])?["age"] as? Int == 7)

            let second = Pusher.make(server, Recorder())
            second.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "bob") }
            let theirs = second.subscribeToPresenceChannel(channelName: "presence-room")
            second.connect()
            #expect(await recorder.waitFor("added bob"))
            #expect(channel.members.map(\.userId) == ["ann", "bob"])
            #expect(channel.findMember(userId: "bob") != nil)
            #expect(await eventually { theirs.members.count == 2 })
            second.disconnect()
            #expect(await recorder.waitFor("removed bob"))
            #expect(channel.members.map(\.userId) == ["ann"])
        }
    }

    @Test(arguments: Profile.allCases) func membersAreReplacedAfterAReconnect(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "ann") }
            let channel = pusher.subscribeToPresenceChannel(channelName: "presence-room")
            pusher.connect()
            #expect(await recorder.waitFor("subscribed"))
            let socketID = try #require(pusher.connection.socketId)
            try await server.inject(.dropTCP, into: socketID)
            #expect(await recorder.waitFor("subscribed", count: 2))
            #expect(channel.members.map(\.userId) == ["ann"])
            #expect(pusher.connection.channels.findPresence(name: "presence-room") === channel)
        }
    }

    @Test(arguments: Profile.allCases) func userInfoThatIsNoJSONFailsTheSubscription(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            pusher.connection.userDataFetcher = {
                PusherPresenceChannelMember(userId: "ann", userInfo: ["when": Date()])
            }
            pusher.subscribe("presence-room")
            pusher.connect()
            #expect(await recorder.waitFor("failed presence-room"))
            #expect(recorder.contains("userInfo cannot be written as JSON"))
        }
    }

    // MARK: Client events

    @Test(arguments: Profile.allCases) func clientEventsReachTheOthersAndNotTheSender(profile: Profile) async throws {
        try await withServer(profile) { server in
            let sender = Pusher.make(server, recorder)
            sender.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "ann") }
            let mine = sender.subscribe("presence-room")
            mine.bind { [recorder] event in if event.eventName.hasPrefix("client-") { recorder.add("echo") } }
            mine.trigger(eventName: "client-typing", data: ["early": true])  // before the subscription
            #expect(mine.unsentEvents.map(\.eventName) == ["client-typing"])

            let receiver = Pusher.make(server, Recorder())
            receiver.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "bob") }
            let theirs = receiver.subscribe("presence-room")
            theirs.bind { [recorder] event in
                if event.eventName.hasPrefix("client-") {
                    recorder.add("got \(event.eventName) \(event.data ?? "") from \(event.userId ?? "")")
                }
            }
            receiver.connect()
            try await theirs.subscribed()
            sender.connect()
            #expect(await recorder.waitFor(#"got client-typing {"early":true} from ann"#))
            if profile != .reverb {  // which rejects plain text
                mine.trigger(eventName: "client-typing", data: "text")
                #expect(await recorder.waitFor("got client-typing text from ann"))
            }
            try mine.trigger("client-typing", ["typed": 1])
            #expect(await recorder.waitFor(#"got client-typing {"typed":1} from ann"#))
            #expect(!recorder.contains("echo"))
        }
    }

    @Test(arguments: Profile.allCases) func clientEventsThatCannotBeSentAreErrors(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("private-x")
            channel.trigger(eventName: "typing", data: "x")
            channel.trigger(eventName: "client-x", data: Date())
            pusher.subscribe("public").trigger(eventName: "client-x", data: "x")
            #expect(await recorder.waitFor("error", count: 3))
            #expect(recorder.contains("starts with “client-”"))
            #expect(recorder.contains("cannot be written as JSON"))
            #expect(recorder.contains("only private and presence channels"))
            #expect(throws: PusherError.self) { try channel.trigger("typing", 1) }
            #expect(throws: EncodingError.self) { try channel.trigger("client-x", Double.infinity) }
        }
    }

    // MARK: Bad input

    @Test(arguments: Profile.allCases) func nonsenseIsReportedOnceAndDisturbsNothing(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder) { $0.maximumMessageSize = 10_000 }
            pusher.subscribe("c").bind(eventName: "e") { [recorder] event in
                recorder.add("event \(event.data ?? "nil")")
            }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed"))
            let id = try #require(pusher.connection.socketId)
            for text in [
                "nonsense", "[1]", #"{"data":1}"#, #"{"event":1}"#, #"{"event":"e","channel":{}}"#,
                #"{"event":"e","channel":"nobody","data":""}"#,
            ] {
                try await server.send(raw: text, to: id)
            }
            try await server.inject(.binary([1, 2, 3]), into: id)
            try await server.inject(.hugeText(byteCount: 50_000), into: id)
            await server.publish(event: "e", channel: "c", data: "still here")
            #expect(await recorder.waitFor("event still here"))
            #expect(recorder.count("error ") == 8)
            #expect(
                recorder.contains("larger than maximumMessageSize allows, of which 50000 bytes were seen"))
            #expect(pusher.connection.socketId == id)
        }
    }
}

/// Holds a binding's ID for use in the binding itself.
final class Ids: Sendable {
    private let lock = Lock("")

    var value: String {
        get { lock.withLock { $0 } }
        set { lock.withLock { $0 = newValue } }
    }
}
