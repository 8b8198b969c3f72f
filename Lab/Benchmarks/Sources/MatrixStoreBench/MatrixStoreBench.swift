// Commits an initial sync and incremental ones to a file store, and opens it again.
//
//     MatrixStoreBench [rounds N] [rooms 1000] [folder PATH]
//
// The account for the start has all rooms, with 20 events and 50 members each; the large initial sync has a fifth of
// them, with 125 events and 10 members each. Each room has a summary and 3 pieces of account data. An incremental sync
// has an event in each of 10 rooms. A start reads everything that a list of rooms shows; the page cache is warm.
import Foundation
import MatrixSDK
import Measuring

/// Generates events from the number of a room and their own.
private struct Account {
    let rooms: Int
    let events: Int
    let members: Int
    private let text = String(repeating: "Matrix stores rooms and events. ", count: 6)

    func roomId(_ room: Int) -> String { "!room\(room):example.org" }

    func message(_ number: Int, room: Int) throws -> MXEvent {
        try event(
            """
            {"type":"m.room.message","event_id":"$\(room)-\(number)-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",\
            "sender":"@user\(number % 50):example.org","origin_server_ts":\(1_700_000_000_000 + number),\
            "unsigned":{"age":1234},"content":{"msgtype":"m.text","body":"\(text)"}}
            """, room: room)
    }

    private func member(_ number: Int, room: Int) throws -> MXEvent {
        try event(
            """
            {"type":"m.room.member","event_id":"$m\(room)-\(number)-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",\
            "sender":"@user\(number):example.org","state_key":"@user\(number):example.org",\
            "origin_server_ts":1700000000000,"content":{"membership":"join","displayname":"User \(number)",\
            "avatar_url":"mxc://example.org/aaaaaaaaaaaaaaaaaaaaaaaa"}}
            """, room: room)
    }

    func summary(_ room: Int) throws -> MXRoomSummary {
        let json = """
            {"roomId":"\(roomId(room))","membership":"join","displayName":"Room \(room)","joinedMembersCount":50,\
            "invitedMembersCount":0,"heroes":[],"notificationCount":2,"highlightCount":0,"localUnreadEventCount":2,\
            "isMarkedUnread":false,"isDirect":false,"isEncrypted":false,"tags":{},"hiddenFromUser":false,\
            "topic":"What room \(room) is about","lastMessageId":"$\(room)-1","lastMessageTs":1700000000000,\
            "hasServerCounts":false,"membersAreComplete":false,"paginationToken":"t\(room)"}
            """
        return try JSONDecoder().decode(MXRoomSummary.self, from: Data(json.utf8))
    }

    func initial() throws -> MXStoreChanges {
        var changes = MXStoreChanges()
        changes.syncToken = "s0"
        changes.accountData = try ["m.direct", "m.push_rules", "m.ignored_user_list"].map {
            try event(#"{"type":"\#($0)","content":{"a":"b"}}"#, room: 0)
        }
        changes.presence = try (0..<50).map {
            try event(#"{"type":"m.presence","sender":"@user\#($0):example.org","content":{}}"#, room: 0)
        }
        for room in 0..<rooms {
            var changed = MXStoreChanges.Room()
            changed.state = try (0..<members).map { try member($0, room: room) }
            changed.timeline = try (0..<events).map { try message($0, room: room) }
            changed.timelineToken = "t\(room)"
            changed.summary = try summary(room)
            changed.accountData = try ["m.fully_read", "m.tag", "m.marked_unread"].map {
                try event(#"{"type":"\#($0)","content":{"event_id":"$\#(room)-1"}}"#, room: room)
            }
            changes.rooms[roomId(room)] = changed
        }
        return changes
    }

    func incremental(_ number: Int) throws -> MXStoreChanges {
        var changes = MXStoreChanges()
        changes.syncToken = "s\(number)"
        for room in number * 10..<number * 10 + 10 {
            var changed = MXStoreChanges.Room()
            changed.timeline = [try message(100 + number, room: room % rooms)]
            changed.timelineToken = "t\(number)"
            changed.summary = try summary(room % rooms)
            changes.rooms[roomId(room % rooms)] = changed
        }
        return changes
    }

    private func event(_ json: String, room: Int) throws -> MXEvent {
        guard let event = MXEvent(data: Data(json.utf8), roomId: roomId(room)) else {
            throw CocoaError(.coderInvalidValue)
        }
        return event
    }
}

private let userId = "@bench:example.org"

private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

@main
struct MatrixStoreBench {
    static func main() throws {
        let arguments = Arguments()
        let folder = URL(
            fileURLWithPath: arguments["folder"] ?? NSTemporaryDirectory() + "matrix-store-bench-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        var times: [String: [Double]] = [:]
        func add(_ name: String, _ body: () throws -> Void) rethrows {
            let (start, startCPU) = (nanoseconds(), cpuSeconds())
            try body()
            times[name + "_ms", default: []].append(Double(nanoseconds() - start) / 1e6)
            times[name + "_cpu_ms", default: []].append((cpuSeconds() - startCPU) * 1e3)
        }
        let rooms = arguments.number("rooms", default: 1000)
        let large = Account(rooms: rooms / 5, events: 125, members: 10)
        let largeInitial = try large.initial()
        let account = Account(rooms: rooms, events: 20, members: 50)
        let initial = try account.initial()
        let incremental = try (1...100).map(account.incremental)
        for _ in 0..<arguments.number("rounds", default: 5) {
            let store = MXFileStore(folder: folder)
            _ = try store.open(userId: userId, deviceId: "D")
            try add("initial_commit") { try store.commit(largeInitial) }
            try store.deleteAllData()

            _ = try store.open(userId: userId, deviceId: "D")
            try store.commit(initial)
            for changes in incremental { try add("incremental_commit") { try store.commit(changes) } }
            add("close") { store.close() }
            var session = MXStoredSession()
            try add("open") { session = try store.open(userId: userId, deviceId: "D") }
            guard session.summaries.count == account.rooms, session.roomAccountData.count == account.rooms else {
                fatalError("not all was stored")
            }
            try add("read_20_events") { _ = try store.events(in: account.roomId(7), before: nil, limit: 20) }
            try add("read_state") { _ = try store.state(of: account.roomId(7)) }
            try store.deleteAllData()
        }
        var figures = times.mapValues(median)
        figures["worst_incremental_commit_ms"] = times["incremental_commit_ms"]?.max()
        figures["initial_events"] = Double(large.rooms * large.events)
        try? FileManager.default.removeItem(at: folder)
        finish(figures)
    }
}
