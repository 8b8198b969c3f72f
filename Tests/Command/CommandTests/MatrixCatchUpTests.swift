import ArgumentParser
import Basics
import Foundation
import MatrixTestSupport
import TestSupport
import Testing

@testable import CommandKit

/// The output of `matrix listen` for the time in which it did not run.
@Suite(.overSockets)
struct MatrixCatchUpTests {
    private func isRunning(_ lines: [String]) -> Bool { lines.contains { $0.contains(#""to":"running""#) } }

    @Test func whatCameWhileNobodyListenedIsPrintedFirst_whoeverHasSyncedSince() async throws {
        let scene = try await MatrixScene()
        let stream = RoomStream(scene.server)
        stream.add(MatrixScene.message("$old", "old"))
        let first = try scene.run(["matrix", "listen", "--json"])
        #expect(await first.waitFor(isRunning))
        first.interrupt()
        #expect(await first.status() == 0)
        #expect(first.objects.allSatisfy { $0["type"] as? String == "state" })
        let firstSyncs = scene.syncTokens.count { $0 == nil }  // a slow answer is requested again

        stream.add(MatrixScene.message("$1", "one"))
        let rooms = try await scene.matrix("rooms")  // stores the room
        #expect(rooms.status == 0)
        stream.add(MatrixScene.message("$2", "two"))
        let second = try scene.run(["matrix", "listen", "--json", "--room", "lobby", "--count", "3"])
        #expect(await second.waitFor(isRunning))
        stream.add(MatrixScene.message("$3", "three"))
        #expect(await second.status() == 0)
        let events = second.objects.filter { $0["type"] as? String == "event" }
        #expect(events.compactMap { $0["event_id"] as? String } == ["$1", "$2", "$3"])
        #expect(events.map { $0["caught_up"] as? Bool } == [true, true, nil])
        #expect(events.map { $0["notify"] as? Bool } == [true, true, true])
        let syncs = scene.server.requests("GET", "v3/sync").count

        stream.add(MatrixScene.message("$4", "four"))
        let silent = try scene.run(["matrix", "listen", "--json", "--no-catch-up", "--count", "1"])
        #expect(await silent.waitFor(isRunning))
        stream.add(MatrixScene.message("$5", "five"))
        #expect(await silent.status() == 0)
        #expect(silent.objects.compactMap { $0["event_id"] as? String } == ["$5"])
        #expect(scene.server.requests("GET", "v3/sync").count > syncs)
        let errors = [first, rooms.run, second, silent].map(\.errors)
        #expect(scene.syncTokens.count { $0 == nil } == firstSyncs, "\(scene.syncTokens), \(errors)")
    }

    @Test func eventsThatCountStoppedBeforeComeWithTheNextListen_once() async throws {
        let scene = try await MatrixScene()
        let stream = RoomStream(scene.server)
        let first = try scene.run(["matrix", "listen", "--json"])
        #expect(await first.waitFor(isRunning))
        first.interrupt()
        #expect(await first.status() == 0)
        for number in 1...3 { stream.add(MatrixScene.message("$\(number)", "\(number)")) }
        var printed: [String] = []
        for _ in 1...3 {
            let run = try scene.run(["matrix", "listen", "--json", "--count", "1"])
            #expect(await run.status() == 0)
            printed += run.objects.compactMap { $0["event_id"] as? String }
        }
        #expect(printed == ["$1", "$2", "$3"])
    }

    @Test func aGapInWhatWasMissedIsTold() async throws {
        let scene = try await MatrixScene()
        let stream = RoomStream(scene.server, limit: 2)
        let first = try scene.run(["matrix", "listen", "--json"])
        #expect(await first.waitFor(isRunning))
        first.interrupt()
        #expect(await first.status() == 0)
        for number in 1...5 { stream.add(MatrixScene.message("$\(number)", "\(number)")) }
        let run = try scene.run(["matrix", "listen", "--count", "2"])
        #expect(await run.status() == 0)
        let lines = run.output.filter { $0.contains("gap") || $0.contains("m.room.message") }
        #expect(lines.count == 3, "\(lines)")
        #expect(lines.first?.contains("events may be missing from") == true)
        #expect(lines.last?.hasSuffix("Bob: 5  (missed; sent 2023-11-14 22:13)") == true, "\(lines)")
    }

    @Test func sincePrintsWhatIsStored_andFetchesWhatIsOlder() async throws {
        let scene = try await MatrixScene()
        let stream = RoomStream(scene.server, limit: 2)
        let now = Date().timeIntervalSince1970
        func message(_ id: String, minutesAgo: Double) -> String {
            MatrixScene.message(id, "said").replacingOccurrences(
                of: "1700000000000", with: "\(Int((now - minutesAgo * 60) * 1000))")
        }
        for (id, minutes) in [("$3", 30.0), ("$4", 20), ("$5", 10)] { stream.add(message(id, minutesAgo: minutes)) }
        let older = [message("$3", minutesAgo: 30), message("$2", minutesAgo: 100), message("$1", minutesAgo: 200)]
        scene.server.on(
            "GET", "v3/rooms/*/messages", .json(#"{"chunk":[\#(older.joined(separator: ","))],"start":"p","end":"q"}"#))
        let run = try scene.run(["matrix", "listen", "--json", "--since", "2h", "--count", "5"])
        #expect(await run.waitFor(isRunning))
        stream.add(message("$6", minutesAgo: 0))
        #expect(await run.status() == 0)
        let events = run.objects.filter { $0["type"] as? String == "event" }
        #expect(events.compactMap { $0["event_id"] as? String } == ["$2", "$3", "$4", "$5", "$6"])
        #expect(events.map { $0["caught_up"] as? Bool } == [true, true, true, true, nil])
        #expect(events.first?["notify"] as? Bool == true)
        #expect(scene.server.requests("GET", "v3/rooms/*/messages").map { $0.parameter("from") } == ["p"])
        for arguments in [["--since", "soon"], ["--since", "1h", "--no-catch-up"], ["--since", "2999-01-01"]] {
            try await MatrixScene.expectWrongUse(["listen"] + arguments)
        }
    }

    @Test(arguments: [
        "90s", "30m", "2h", "7d", "2026-01-31", "2026-01-31T12:00", "2026-01-31T12:00:30Z", "2026-01-31T12:00:30.123Z",
    ])
    func timesThatArePast(text: String) throws {
        let date = try PastTime(text).date
        #expect(date < Date())
        if text.hasSuffix("m") { #expect(abs(date.timeIntervalSinceNow + 1800) < 60) }
    }

    @Test(arguments: ["", "h", "-1h", "1.5h", "1y", "tomorrow", "2026-13-01"])
    func whatIsNoTimeIsRefusedWithItsForms(text: String) {
        let error = #expect(throws: ValidationError.self) { try PastTime(text) }
        #expect(error?.message.contains("30m") == true)
    }

    @Test(arguments: ["2999-01-01", "2999-01-31T12:00"]) func whatIsNotPastIsRefused(text: String) {
        let error = #expect(throws: ValidationError.self) { try PastTime(text) }
        #expect(error?.message.contains("in the future") == true)
    }
}

/// The event stream of a room, as a homeserver serves it: everything since a token at once, but only the newest part if
/// it is long.
final class RoomStream: Sendable {
    private let events = Lock<[String]>([])

    init(_ server: FakeHomeserver, limit: Int = 100) {
        server.on("GET", "v3/sync") { [events] request in
            let all = events.withLock { $0 }
            let token = #"{"next_batch":"\#(all.count)""#
            guard let since = request.parameter("since").flatMap(Int.init) else {
                return .json(
                    token + MatrixScene.room(name: "Lobby", timeline: Array(all.suffix(limit)), isLimited: true)
                        + MatrixScene.pushRules + "}")
            }
            let new = all.dropFirst(since)
            guard !new.isEmpty else { return .json(token + "}").after(.milliseconds(30)) }
            return .json(
                token + MatrixScene.room(timeline: Array(new.suffix(limit)), isLimited: new.count > limit) + "}")
        }
    }

    func add(_ event: String) { events.withLock { $0.append(event) } }
}
