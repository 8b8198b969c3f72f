import Basics
import PusherSwift
import PusherTestSupport
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing
import Transport

/// Workspaces as sources of events for the bindings of an unconnected client.
@Suite(.overSockets)
struct AttachedWorkspaceTests {
    private let recorder = Recorder()
    private let pusher = Pusher(key: "key")

    @Test(arguments: [EventScene.Way.polls, .webSocket, .feed])
    func eventsReachTheWorkspacesChannel_andGlobalBindings(way: EventScene.Way) async throws {
        try await EventScene.with(.v8, way) { scene in
            let recorder = recorder
            pusher.attach(scene.events)
            let name = "pydio:127.0.0.1:\(scene.server.port)/0"
            #expect(scene.events.channelName == name && scene.events.channelPrefix == name)
            pusher.channel(name)?.bind(eventName: PydioEventName.nodeCreated) { (event: PusherEvent) in
                recorder.add("channel \(event.data ?? "-")")
            }
            pusher.bind { (event: PusherEvent) in recorder.add("global \(event.channelName ?? "-") \(event.eventName)")
            }
            scene.makeFolder("one")
            #expect(await recorder.waitFor("channel"))
            #expect(await recorder.waitFor("global \(name) pydio:node_created"))
            #expect(recorder.contains(#""path":"/one""#) && recorder.contains(#""is_leaf":false"#))
        }
    }

    @Test func sequencesGapsErrorsAndStatesCome() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            pusher.attach(scene.events)
            let recorder = recorder
            pusher.delegate = recorder
            let channel = try #require(pusher.channel(scene.events.channelName))
            var events = channel.events(PydioEventName.nodeCreated).makeAsyncIterator()
            var gaps = pusher.gaps.makeAsyncIterator()
            var errors = pusher.errors.makeAsyncIterator()
            channel.bind(eventName: PydioEventName.state) { (event: PusherEvent) in recorder.add(event.data ?? "-") }
            scene.server.inject(.hold, into: "client_consume_channel", times: 1)
            let server = scene.server
            #expect(await eventually { server.heldCount == 1 })
            // An answer is lost with its messages; the rest is detected.
            server.remove("/a.txt")
            try server.addFile("/late.txt")
            server.dropConnections()
            #expect(await events.next()?.data?.contains(#""late":true"#) == true)
            #expect(await gaps.next()?.channelName == scene.events.channelName)
            let error = try #require(await errors.next())
            #expect(error.kind == .sourceFailed && error.willRetry)
            #expect(await recorder.waitFor(#"{"state":"reconnecting"}"#))
            #expect(await recorder.waitFor(#"{"state":"connected"}"#))
            server.release()
        }
    }

    @Test func severalWorkspacesAreSeveralSources() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            let team = EventScene(scene.scene, workspace: FakePydioWorkspace.teamID)
            team.events.start()
            #expect(await team.isConnected())
            pusher.attach(scene.events)
            pusher.attach(team.events)
            let recorder = recorder
            pusher.bind { (event: PusherEvent) in
                guard event.eventName == PydioEventName.nodeCreated else { return }
                recorder.add("\(event.channelName?.split(separator: "/").last ?? "-") \(event.data ?? "-")")
            }
            scene.makeFolder("one")
            team.server.act("mkdir", ["dir": "/", "dirname": "two"], in: FakePydioWorkspace.teamID, as: "ada")
            #expect(await recorder.waitFor("/one"))
            #expect(await recorder.waitFor("/two"))
            #expect(recorder.all.contains { $0.hasPrefix("0 ") && $0.contains("/one") })
            #expect(recorder.all.contains { $0.hasPrefix(FakePydioWorkspace.teamID) && $0.contains("/two") })
            pusher.detach(team.events)
            team.server.act("mkdir", ["dir": "/", "dirname": "three"], in: FakePydioWorkspace.teamID, as: "ada")
            #expect(await team.recorder.waitFor("/three"))
            #expect(!recorder.contains("/three"))
            team.events.close()
        }
    }

    @Test func aSlowReaderOfTheClientsHoldsTheSource() async throws {
        try await EventScene.with(.v5_2, .polls) { scene in
            pusher.attach(scene.events)
            let channel = try #require(pusher.channel(scene.events.channelName))
            let events = channel.events(PydioEventName.nodeCreated, buffering: .suspend(limit: 2))
            for number in 1...5 { scene.makeFolder("\(number)") }
            // A request may come between two of them: the others then arrive only once the first are read.
            #expect(await scene.recorder.waitFor("node_created /2"))
            #expect(await scene.isQuiet())
            var count = 0
            for await _ in events {
                count += 1
                if count == 5 { break }
            }
            scene.makeFolder("6")
            #expect(await scene.recorder.waitFor("node_created /6"))
        }
    }
}
