import Basics
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing
import Transport

/// A session as a source of events for the bindings of an unconnected client.
@Suite(.overSockets)
struct AttachedSessionTests {
    private let recorder = Recorder()
    private let pusher = Pusher(key: "key")

    private func started(_ change: (inout MXSessionOptions) -> Void = { _ in }) async throws -> SessionScene {
        let scene = try await SessionScene(change)
        let rules = #"""
            {"type":"m.push_rules","content":{"global":{"content":[{"rule_id":".m.rule.contains_user_name","default":true,
            "enabled":true,"pattern":"alice","actions":["notify",{"set_tweak":"highlight"}]}],"underride":[{
            "rule_id":".m.rule.message","default":true,"enabled":true,"actions":["notify"],
            "conditions":[{"kind":"event_match","key":"type","pattern":"m.room.message"}]}]}}}
            """#
        scene.script(
            Sync.answer("s1", #""account_data":{"events":[\#(rules)]},"# + Sync.room(state: Sync.members)))
        try await scene.session.start()
        pusher.attach(scene.session)
        return scene
    }

    @Test func eventsOfARoomReachItsChannel_withWhatThePushRulesSay() async throws {
        let scene = try await started()
        let recorder = recorder
        pusher.subscribe("matrix:!r:s").bind(eventName: "m.room.message") { (event: PusherEvent) in
            let body = event.data.flatMap { JSONView(Array($0.utf8)) }?["content"]?["body"]?.string
            recorder.add("\(event.userId ?? "") \(body ?? "") \(event.notify) \(event.highlight)")
        }
        await scene.next(
            Sync.answer(
                "s2",
                Sync.room(timeline: [
                    Sync.message("$1", "hello"), Sync.message("$2", "hello alice"),
                    Sync.message("$3", "mine", sender: "@a:s"),
                ])))
        #expect(await eventually { recorder.all.count == 3 })
        #expect(
            recorder.all == ["@b:s hello true false", "@b:s hello alice true true", "@a:s mine false false"])
    }

    @Test func typingReceiptsUnreadCountsInvitesAndLeavingCome() async throws {
        let scene = try await started()
        let recorder = recorder
        pusher.bind { (event: PusherEvent) in recorder.add("\(event.channelName ?? "-") \(event.eventName)") }
        await scene.next(
            Sync.answer(
                "s2",
                #"""
                "rooms":{"join":{"!r:s":{
                "ephemeral":{"events":[{"type":"m.typing","content":{"user_ids":["@b:s"]}},
                {"type":"m.receipt","content":{"$1":{"m.read":{"@b:s":{"ts":1}}}}}]},
                "account_data":{"events":[{"type":"m.fully_read","content":{"event_id":"$1"}}]},
                "unread_notifications":{"notification_count":2,"highlight_count":0}}},
                "invite":{"!i:s":{"invite_state":{"events":[{"type":"m.room.member","sender":"@b:s","state_key":"@a:s",
                "content":{"membership":"invite"}}]}}}},
                "presence":{"events":[{"type":"m.presence","sender":"@b:s","content":{"presence":"online"}}]}
                """#),
            Sync.answer(
                "s3",
                #"""
                "rooms":{"leave":{"!r:s":{"timeline":{"events":[{"type":"m.room.member","event_id":"$k","sender":"@b:s",
                "state_key":"@a:s","content":{"membership":"leave","reason":"spam"}}]}}}}
                """#))
        #expect(await recorder.waitFor("matrix:leave"))
        let expected = [
            "matrix:!r:s m.typing", "matrix:!r:s m.receipt", "matrix:!r:s m.fully_read", "matrix:!r:s matrix:unread",
            "matrix:!i:s matrix:invite", "matrix:@a:s m.presence", "matrix:!r:s m.room.member",
            "matrix:!r:s matrix:leave",
        ]
        #expect(recorder.all.filter { !$0.contains("sync_state") } == expected)
        #expect(scene.session.user(withUserId: "@b:s")?.presence == .online)
        #expect(scene.session.invitedRooms.map(\.roomId) == ["!i:s"])
        #expect(scene.session.rooms.isEmpty)
    }

    @Test func theSyncsStateAndFailuresAreTold() async throws {
        let scene = try await started()
        let (recorder, errors) = (recorder, pusher.errors)
        pusher.subscribe("matrix:@a:s").bind(eventName: MatrixEventName.syncState) { (event: PusherEvent) in
            recorder.add(event.data ?? "")
        }
        await scene.next(.page(502), Sync.answer("s2"))
        var iterator = errors.makeAsyncIterator()
        let error = try #require(await iterator.next())
        #expect(error.kind == .sourceFailed && error.willRetry)
        #expect(error.description.contains("502"))
        #expect(await recorder.waitFor(#"{"state":"running"}"#))
        #expect(recorder.contains("syncError") || recorder.contains("homeserverNotReachable"))
    }

    @Test func aSlowReaderStopsThePolls_andNothingIsLost() async throws {
        let scene = try await started()
        let (channel, recorder) = (pusher.subscribe("matrix:!r:s"), recorder)
        let events = channel.events("m.room.message", buffering: .suspend(limit: 2))
        channel.bind(eventName: "m.room.message") { (_: PusherEvent) in recorder.add("message") }
        await scene.next(
            Sync.answer("s2", Sync.room(timeline: (1...5).map { Sync.message("$\($0)", "\($0)") })))
        #expect(await recorder.waitFor("message", count: 5))
        // The pending poll is answered, and no other follows.
        await scene.next(Sync.answer("s3"))
        #expect(await eventually { scene.session.state == .running })
        #expect(await !eventually(within: .milliseconds(100)) { scene.polls.last?.parameter("since") == "s3" })
        var ids: [String] = []
        for await event in events {
            ids.append(event.data.flatMap { JSONView(Array($0.utf8)) }?["event_id"]?.string ?? "-")
            if ids.count == 5 { break }
        }
        #expect(ids == ["$1", "$2", "$3", "$4", "$5"])
        #expect(await eventually { scene.polls.last?.parameter("since") == "s3" })
        await scene.next(Sync.answer("s4", Sync.room(timeline: [Sync.message("$6")])))
        #expect(await eventually { scene.session.rooms.first?.lastMessage?.eventId == "$6" })
    }

    @Test func aGapIsReportedForItsChannel() async throws {
        let scene = try await started()
        var gaps = pusher.gaps.makeAsyncIterator()
        pusher.subscribe("matrix:!r:s")
        await scene.next(
            Sync.answer("s2", Sync.room(timeline: [Sync.message("$9")], isLimited: true, prevBatch: "p")))
        #expect(await gaps.next()?.channelName == "matrix:!r:s")
    }

    @Test func whatIsDetachedIsSilent() async throws {
        let scene = try await started()
        let recorder = recorder
        pusher.bind { (event: PusherEvent) in recorder.add(event.eventName) }
        pusher.detach(scene.session)
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$1")])))
        #expect(await eventually { scene.session.rooms.first?.lastMessage?.eventId == "$1" })
        pusher.attach(scene.session)
        await scene.next(Sync.answer("s3", Sync.room(timeline: [Sync.message("$2")])))
        #expect(await recorder.waitFor("m.room.message"))
        #expect(recorder.count("m.room.message") == 1)
    }
}
