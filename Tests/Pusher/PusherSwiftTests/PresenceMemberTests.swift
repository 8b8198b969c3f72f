import Basics
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// The members of a presence channel with a server.
struct PresenceMemberTests {
    private let recorder = Recorder()

    @Test(.overSockets, .regression("There were no members yet when the success was told of."))
    func membersAreSetBeforeTheSuccessIsToldOf() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) { $0.callbackQueue = .inline }
            pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "ann") }
            let channel = pusher.subscribeToPresenceChannel(channelName: "presence-room")
            channel.bind(eventName: "pusher:subscription_succeeded") { [recorder] _ in
                recorder.add("members \(channel.members.map(\.userId)), me \(channel.me()?.userId ?? "-")")
            }
            pusher.connect()
            #expect(await recorder.waitFor("members"))
            #expect(recorder.all.last == #"members ["ann"], me ann"#)
        }
    }

    @Test(.overSockets, .regression("A user with two connections was gone when one of them was."))
    func aUserWithTwoConnectionsIsOneMember() async throws {
        try await withServer { server in
            func makeClient(_ user: String, _ recorder: Recorder) -> (Pusher, PusherPresenceChannel) {
                let pusher = Pusher.make(server, recorder)
                pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: user) }
                let channel = pusher.subscribeToPresenceChannel(channelName: "presence-room")
                pusher.connect()
                return (pusher, channel)
            }
            let (watcher, room) = makeClient("watcher", recorder)
            room.onMemberAdded = { [recorder] in recorder.add("added \($0.userId)") }
            room.onMemberRemoved = { [recorder] in recorder.add("removed \($0.userId)") }
            try await room.subscribed()
            let (first, _) = makeClient("ann", Recorder())
            let (second, seen) = makeClient("ann", Recorder())
            try await seen.subscribed()
            #expect(await recorder.waitFor("added ann"))
            #expect(await server.waitFor { $0.subscribers(of: "presence-room").count == 3 })
            #expect(seen.members.map(\.userId).sorted() == ["ann", "watcher"])
            first.disconnect()
            #expect(await server.waitFor { $0.connectionCount == 2 })
            let (last, _) = makeClient("bob", Recorder())  // after any report of the first one's leaving
            #expect(await recorder.waitFor("added bob"))
            #expect(!recorder.contains("removed") && recorder.count("added ann") == 1)
            #expect(room.members.map(\.userId).sorted() == ["ann", "bob", "watcher"])
            second.disconnect()
            #expect(await recorder.waitFor("removed ann"))
            for pusher in [watcher, last] { pusher.disconnect() }
        }
    }

    @Test(.overSockets, .regression("Two members whose ids Unicode considers equal were one."))
    func membersWhoseIDsUnicodeConsidersEqualAreTwo() async throws {
        let (composed, decomposed) = ("\u{E9}ve", "e\u{301}ve")
        try await withServer { server in
            func makeClient(_ user: String, _ recorder: Recorder) -> (Pusher, PusherPresenceChannel) {
                let pusher = Pusher.make(server, recorder)
                pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: user) }
                let channel = pusher.subscribeToPresenceChannel(channelName: "presence-room")
                pusher.connect()
                return (pusher, channel)
            }
            let (watcher, room) = makeClient(composed, recorder)
            room.onMemberAdded = { [recorder] in recorder.add("added \($0.userId.utf8.count)") }
            room.onMemberRemoved = { [recorder] in recorder.add("removed \($0.userId.utf8.count)") }
            try await room.subscribed()
            let (other, seen) = makeClient(decomposed, Recorder())
            try await seen.subscribed()
            #expect(await recorder.waitFor("added \(decomposed.utf8.count)"))
            for channel in [room, seen] {
                #expect(channel.members.count == 2)
                for id in [composed, decomposed] {
                    let found = channel.findMember(userId: id)
                    #expect(found.map { Array($0.userId.utf8) } == Array(id.utf8))
                }
            }
            #expect(seen.me().map { Array($0.userId.utf8) } == Array(decomposed.utf8))
            other.disconnect()
            #expect(await recorder.waitFor("removed \(decomposed.utf8.count)"))
            #expect(room.members.map { Array($0.userId.utf8) } == [Array(composed.utf8)])
            #expect(room.findMember(userId: decomposed) == nil)
            watcher.disconnect()
        }
    }
}
