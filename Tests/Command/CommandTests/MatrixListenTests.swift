import Basics
import Foundation
import MatrixTestSupport
import PusherMockServer
import TestSupport
import Testing

/// `matrix listen`, and `listen --matrix`.
@Suite(.overSockets)
struct MatrixListenTests {
    private func isRunning(_ lines: [String]) -> Bool { lines.contains { $0.contains(#""to":"running""#) } }

    @Test func pusherEventsAndMatrixMessagesComeInOneStream() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: [MatrixScene.message("$old", "old")]))
        let pusher = try await PusherMockServer.start()
        let run = try scene.run([
            "listen", "prices", "--matrix", "--json", "--count", "2", "--no-tls", "--host", "127.0.0.1", "--port",
            "\(pusher.port)", "--key", PusherMockServer.App.defaultKey,
        ])
        #expect(await run.waitFor { isRunning($0) && $0.contains { $0.contains(#""type":"subscribed""#) } })
        await pusher.publish(event: "tick", channel: "prices", data: "1")
        #expect(await run.waitFor { $0.contains { $0.contains(#""event":"tick""#) } })
        scene.bring(MatrixScene.room(timeline: [MatrixScene.message("$1", "hi")]))
        #expect(await run.status() == 0)

        let events = run.objects.filter { $0["type"] as? String == "event" }
        #expect(events.map { $0["channel"] as? String } == ["prices", "matrix:!r:hs"])
        let message = try #require(events.last)
        #expect(message["event"] as? String == "m.room.message")
        #expect(message["room_id"] as? String == "!r:hs")
        #expect(message["sender"] as? String == "@bob:hs")
        #expect(message["event_id"] as? String == "$1")
        #expect(message["notify"] as? Bool == true)
        #expect(message["highlight"] as? Bool == false)
        let data = try #require((message["data"] as? String).map { Data($0.utf8) })
        let event = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect((event["content"] as? [String: Any])?["body"] as? String == "hi")
        let states = run.objects.filter { $0["type"] as? String == "state" }
        #expect(states.contains { $0["source"] as? String == "matrix" && $0["to"] as? String == "running" })
        #expect(states.contains { $0["source"] == nil && $0["to"] as? String == "connected" })
        #expect(!run.words.contains(MatrixScene.token))
        await pusher.stop()
    }

    @Test func withoutChannelsNoKeyIsNeeded_andNoPusherConnectionIsMade() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let pusher = try await PusherMockServer.start()
        for arguments in [["matrix", "listen"], ["listen", "--matrix", "--no-tls", "--port", "\(pusher.port)"]] {
            let run = try scene.run(arguments + ["--count", "1"])
            #expect(await run.waitFor { $0.contains { $0.hasSuffix("matrix  running  was syncInProgress") } })
            scene.bring(MatrixScene.room(timeline: [MatrixScene.message("$\(arguments.count)", "hi\\u001b[31m")]))
            #expect(await run.status() == 0)
            #expect(run.output.last?.dropFirst(14) == #"Lobby  m.room.message  Bob: hi\u{1B}[31m"#)
            #expect(run.errors == [])
        }
        #expect(await pusher.state.history.isEmpty)
        let keyless = try scene.run(["listen", "prices", "--matrix"])
        #expect(await keyless.status() == 64)
        await pusher.stop()
    }

    @Test func theFirstSyncIsSmall_andHistoryIsNotPrinted() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(
            MatrixScene.room(name: "Lobby", timeline: [MatrixScene.message("$old", "old")]))
        let run = try scene.run(["matrix", "listen", "--json"])
        #expect(await run.waitFor(isRunning))
        #expect(await scene.server.hasBeenAsked("GET", "v3/sync", times: 3))
        run.interrupt()
        #expect(await run.status() == 0)
        #expect(run.objects.allSatisfy { $0["type"] as? String == "state" })
        let filters = scene.server.requests("GET", "v3/sync").map { $0.parameter("filter") ?? "" }
        #expect(filters.first?.contains(#""limit":10,"#) == true)
        #expect(filters.last?.contains(#""limit":100,"#) == true)
    }

    @Test func oneRoomAlone_orNotificationsAlone() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let notice = MatrixScene.message("$n", "beep").replacingOccurrences(of: "m.text", with: "m.notice")
        let room = try scene.run(["matrix", "listen", "--json", "--room", "lobby", "--count", "2"])
        let other = try scene.run(["matrix", "listen", "--json", "--room", "!other:hs", "--timeout", "5"])
        let notifications = try scene.run(["listen", "--matrix", "--json", "--notifications", "--count", "1"])
        for run in [room, other, notifications] { #expect(await run.waitFor(isRunning)) }
        // Each has its own sync, and must receive the same events.
        let batch = MatrixScene.room(timeline: [notice, MatrixScene.message("$m", "hello")])
        let state = Lock<[String: Int]>([:])
        scene.server.on("GET", "v3/sync") { request in
            let since = request.parameter("since") ?? ""
            let count = state.withLock { state in
                state[since, default: 0] += 1
                return state[since, default: 0]
            }
            return since.hasPrefix("told")
                ? .json(#"{"next_batch":"\#(since)"}"#).after(.milliseconds(30))
                : .json(#"{"next_batch":"told-\#(count)"\#(batch)}"#)
        }
        #expect(await room.status() == 0)
        #expect(await notifications.status() == 0)
        #expect(room.objects.compactMap { $0["event_id"] as? String } == ["$n", "$m"])
        #expect(notifications.objects.compactMap { $0["event_id"] as? String } == ["$m"])
        #expect(await other.status() == 0)
        #expect(other.objects.allSatisfy { $0["type"] as? String == "state" })
        #expect(other.errors.contains { $0.contains("you are not in !other:hs") })
    }

    @Test func aRoomThatIsNotThereEndsIt_andAnAliasIsWaitedForNoLongerThanAsked() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let unknown = try scene.run(["matrix", "listen", "--room", "nowhere"])
        #expect(await unknown.status() == 65)
        #expect(unknown.errors.first?.contains("there is no room “nowhere”") == true)
        scene.server.on("GET", "v3/directory/room/*", .error(404, "M_NOT_FOUND"))
        #expect(await (try scene.run(["matrix", "listen", "--room", "#no:hs"])).status() == 65)
        scene.server.on("GET", "v3/directory/room/*", .silence)
        let slow = ["matrix", "listen", "--room", "#slow:hs"]
        #expect(await (try scene.run(slow + ["--count", "1", "--timeout", "0.5"])).status() == 69)
        let interrupted = try scene.run(slow)
        #expect(await scene.server.hasBeenAsked("GET", "v3/directory/room/*", times: 3))
        interrupted.interrupt()
        #expect(await interrupted.status() == 130)
    }

    @Test func invitationsTypingAndUnreadCountsAreTold() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let run = try scene.run(["matrix", "listen", "--json", "--count", "1"])
        #expect(await run.waitFor(isRunning))
        scene.bring(
            MatrixScene.room(
                more: #","ephemeral":{"events":[{"type":"m.typing","content":{"user_ids":["@bob:hs"]}}]}"#))
        #expect(await run.waitFor { $0.contains { $0.contains(#""event":"m.typing""#) } })
        scene.bring(
            #"""
            ,"rooms":{"invite":{"!i:hs":{"invite_state":{"events":[{"type":"m.room.member","state_key":"@alice:hs",
            "sender":"@bob:hs","content":{"membership":"invite"}}]}}}}
            """#)
        #expect(await run.status() == 0)
        let invitation = try #require(run.objects.last)
        #expect(invitation["event"] as? String == "matrix:invite")
        #expect(invitation["room_id"] as? String == "!i:hs")
        #expect(invitation["sender"] as? String == "@bob:hs")
        #expect(invitation["notify"] as? Bool == true)
    }

    @Test func aServerThatFailsIsReportedOnce_andWhatWasMissedAsAGap() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let run = try scene.run(["matrix", "listen", "--json", "--count", "1"])
        #expect(await run.waitFor(isRunning))
        let failures = Lock(3)
        scene.server.setGate { _ in
            failures.withLock { left in
                left -= 1
                return left < 0 ? nil : .page(502)
            }
        }
        #expect(await run.waitFor { $0.contains { $0.contains(#""to":"homeserverNotReachable""#) } })
        #expect(await run.waitFor { $0.last?.contains(#""to":"running""#) == true })
        scene.bring(MatrixScene.room(isLimited: true))
        #expect(await run.waitFor { $0.contains { $0.contains(#""type":"gap","#) } })
        scene.bring(MatrixScene.room(timeline: [MatrixScene.message("$after", "x")]))
        #expect(await run.status() == 0)
        let errors = run.objects.filter { $0["type"] as? String == "error" }
        #expect(errors.count == 1)
        #expect(errors.first?["will_retry"] as? Bool == true)
        let gap = run.objects.first { $0["type"] as? String == "gap" }
        #expect(gap?["channel"] as? String == "matrix:!r:hs")
        #expect(gap?["from"] != nil && gap?["to"] != nil)
    }

    @Test func aLoginThatEndsMeanwhileIsStatus77() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin("")
        let run = try scene.run(["matrix", "listen", "--json"])
        #expect(await run.waitFor(isRunning))
        scene.server.setGate { _ in .unknownToken(softLogout: false) }
        #expect(await run.status() == 77)
        let error = run.objects.last { $0["type"] as? String == "error" }
        #expect(error?["will_retry"] as? Bool == false)
    }

    @Test func timeOutsAndReadersThatLeave() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let late = try scene.run(["matrix", "listen", "--count", "1", "--timeout", "3"])
        #expect(await late.status() == 75)
        let unread = try scene.run(["matrix", "listen"], closesOutput: true)
        #expect(await unread.status() == 0)
        #expect(unread.errors == [])
    }

    @Test func aFirstSyncThatTakesLongIsWaitedFor() async throws {
        let scene = try await MatrixScene()
        scene.server.on("GET", "v3/sync") { request in
            request.parameter("since") == nil
                ? .json(#"{"next_batch":"1"\#(MatrixScene.room(name: "Lobby"))}"#).after(.milliseconds(800))
                : .json(#"{"next_batch":"2"\#(MatrixScene.room(timeline: [MatrixScene.message("$1", "x")]))}"#)
        }
        let run = try scene.run(["matrix", "listen", "--connect-timeout", "0.2", "--count", "1"])
        #expect(await run.status() == 0)
    }
}
