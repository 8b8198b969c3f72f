import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// A channel that is left and rejoined is a new one: observers of the old one get no events from it.
@Suite(.overSockets)
struct RejoiningTests {
    private let recorder = Recorder()

    private func client(_ server: PusherMockServer, _ userID: String) -> Pusher {
        let pusher = Pusher.make(server, recorder)
        pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: userID) }
        pusher.connect()
        return pusher
    }

    /// Records the elements of `changes`, and its end.
    private func record(_ changes: EventSequence<PusherPresenceChannel.MemberChange>, as name: String) {
        Task { [recorder] in
            for await change in changes {
                switch change {
                case .added(let member): recorder.add("\(name) added \(member.userId)")
                case .removed(let member): recorder.add("\(name) removed \(member.userId)")
                }
            }
            recorder.add("\(name) ended")
        }
    }

    /// - Parameter isAnswered: Whether the server answers before the channel is left; otherwise leaving cannot be sent.
    @Test(arguments: [true, false])
    func membersAreToldToThoseWhoAreThere(isAnswered: Bool) async throws {
        try await withServer { server in
            let watcher = client(server, "u1")
            try await watcher.connected()
            let old = watcher.subscribeToPresenceChannel("presence-x") { [recorder] in
                recorder.add("old callback \($0.userId)")
            }
            record(old.memberChanges, as: "old")
            if isAnswered { try await old.subscribed() }
            watcher.unsubscribe("presence-x")
            let new = watcher.subscribeToPresenceChannel("presence-x") { [recorder] in
                recorder.add("new callback \($0.userId)")
            }
            record(new.memberChanges, as: "new")
            try await new.subscribed()
            #expect(new !== old)
            #expect(watcher.connection.channels.findPresence(name: "presence-x") === new)

            let friend = client(server, "u2")
            try await friend.subscribe("presence-x").subscribed()
            #expect(await recorder.waitFor("new added u2"))
            #expect(new.members.map(\.userId) == ["u1", "u2"])
            #expect(old.members.isEmpty)
            friend.unsubscribe("presence-x")
            #expect(await recorder.waitFor("new removed u2"))
            #expect(await recorder.waitFor("old ended"))
            #expect(recorder.count("new callback u2") == 1)
            #expect(recorder.count("old ") == 1)
        }
    }

    @Test func whoLeavesAChannelEndsWhatObservesItAndNothingElse() async throws {
        try await withServer { server in
            let watcher = client(server, "u1")
            let channel = watcher.subscribeToPresenceChannel("presence-x")
            let other = watcher.subscribeToPresenceChannel("presence-y")
            try await channel.subscribed()
            try await other.subscribed()
            record(channel.memberChanges, as: "left")
            record(other.memberChanges, as: "other")
            watcher.unsubscribe("presence-x")
            #expect(await recorder.waitFor("left ended"))
            let friend = client(server, "u2")
            friend.subscribe("presence-x")
            friend.subscribe("presence-y")
            #expect(await recorder.waitFor("other added u2"))
            #expect(recorder.count("left ") == 1)
            #expect(!recorder.contains("other ended"))
        }
    }
}
