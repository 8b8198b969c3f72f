import MatrixProtocol

/// An endless stream of commits, each determined by its number.
enum ChangeStream {
    static func token(_ number: Int) -> String { "s\(number)" }

    /// The number of the commit after the one with this token.
    static func next(after token: String?) -> Int {
        token.flatMap { Int($0.dropFirst()) }.map { $0 + 1 } ?? 0
    }

    static func changes(_ number: Int) -> MXStoreChanges {
        var random = SplitMix(state: UInt64(number))
        var changes = MXStoreChanges()
        changes.syncToken = token(number)
        changes.replacesEverything = number % 211 == 210
        for room in 0..<12 where random.next(below: 4) == 0 {
            changes.rooms[roomId(room)] = self.changes(number, room: room)
        }
        if random.next(below: 5) == 0 {
            let type = "org.example.\(random.next(below: 4))"
            changes.accountData = [event(type: type, content: number, stateKey: nil)].compactMap { $0 }
        }
        if random.next(below: 5) == 0 {
            changes.presence = [event(type: "m.presence", content: number, sender: user(random.next(below: 9)))]
                .compactMap { $0 }
        }
        if random.next(below: 4) == 0 {
            changes.outgoing = [
                MXOutgoingEvent(
                    transactionId: "t\(number)", roomId: roomId(random.next(below: 12)), type: "m.room.message",
                    content: "{}", localEventId: MXEvent.localEventIdPrefix + "\(number)", ts: UInt64(number),
                    state: .sending)
            ]
        }
        changes.sentOutgoing = (number - 40..<number - 20).map { "t\($0)" }
        return changes
    }

    private static func changes(_ number: Int, room: Int) -> MXStoreChanges.Room {
        var random = SplitMix(state: UInt64(number) << 8 | UInt64(room))
        var changes = MXStoreChanges.Room()
        changes.isRemoved = random.next(below: 60) == 0
        changes.dropsTimeline = random.next(below: 40) == 0
        changes.replacesState = random.next(below: 40) == 0
        // Some events of the previous commit are repeated, as by a server that has not seen the new token.
        let repeated = random.next(below: 3) == 0 ? number - 1 : number
        let count = random.next(below: 50) == 0 ? 300 : random.next(below: 8)
        changes.timeline = (max(0, repeated)...number).flatMap { number in
            (0..<count).compactMap { message("$\(number)-\(room)-\($0)", number: number + $0) }
        }
        changes.timelineToken = "t\(repeated)"
        if random.next(below: 6) == 0 {
            changes.older = (0..<20).compactMap { message("$older-\(number)-\(room)-\($0)", number: $0) }
            changes.olderToken = "o\(number)"
        }
        if random.next(below: 4) == 0 {
            let redacted = "$\(number - random.next(below: 5))-\(room)-0"
            changes.replaced = [event(type: "m.room.message", content: -number, eventId: redacted)].compactMap { $0 }
        }
        changes.state = (0..<random.next(below: 4)).compactMap { _ in
            event(type: "m.room.member", content: number, stateKey: user(random.next(below: 40)))
        }
        if random.next(below: 20) == 0 {
            changes.strippedState = (0..<random.next(below: 3)).compactMap {
                event(type: "m.room.name", content: number, stateKey: "\($0)")
            }
        }
        var summary = MXRoomSummary(roomId: roomId(room))
        summary.paginationToken = "p\(number)"
        if random.next(below: 5) > 0 { changes.summary = summary }
        changes.accountData = [event(type: "m.tag.\(random.next(below: 3))", content: number)].compactMap { $0 }
        changes.receipts = [
            MXReceipt(
                userId: user(random.next(below: 40)), eventId: "$\(number)-\(room)-0",
                threadId: random.next(below: 2) == 0 ? "main" : nil, ts: UInt64(number))
        ]
        return changes
    }

    static func roomId(_ number: Int) -> String { "!\(number):example.org" }

    private static func user(_ number: Int) -> String { "@\(number):example.org" }

    private static func message(_ eventId: String, number: Int) -> MXEvent? {
        var content: [String: Any] = ["body": String(repeating: "text ", count: number % 40), "msgtype": "m.text"]
        if number % 3 == 0 { content["m.relates_to"] = ["rel_type": "m.thread", "event_id": "$root-\(number % 7)"] }
        return MXEvent(
            type: "m.room.message", content: content, eventId: eventId, sender: user(number % 40),
            originServerTs: UInt64(number))
    }

    private static func event(
        type: String, content: Int, eventId: String? = nil, sender: String? = nil, stateKey: String? = nil
    ) -> MXEvent? {
        MXEvent(type: type, content: ["number": content], eventId: eventId, sender: sender, stateKey: stateKey)
    }
}

/// The generator of Steele, Lea and Flood: equal states produce equal numbers everywhere.
struct SplitMix {
    var state: UInt64

    mutating func next(below bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}
