/// The session's notices so far, as needed by the invariants.
struct RoomsLedger {
    struct Room {
        /// The position in the stream up to which everything is accounted for: delivered, history, or lost in a
        /// reported gap.
        var position = 0
        /// Whether a gap was reported last.
        var mayJump = false
        /// The last message of the room's summary, and its time.
        var lastMessage: String?
        var lastMessageTs: UInt64 = 0
        /// Whether the room was left, which discards pending messages.
        var hasBeenLeft = false
    }

    var rooms = [Room](repeating: Room(), count: RoomsSchedule.rooms)
    var told: Set<String> = []
    /// The numbers of messages to the device.
    var messages: Set<Int> = []
    var lastMessage = 0
    /// Transaction IDs of all messages that were sent and not given up.
    var sent: [String: Int] = [:]
    var lastTransaction = 0
    /// Rooms whose receipts have not reached the server: the application retries.
    var receipts: Set<Int> = []
    var isSyncing = true
    var isClosed = false
}

/// A listener's position, as `listen` records it: the next process delivers later events once more.
struct RoomsMark {
    let token: String
    /// The state at the position.
    private let rooms: [RoomsLedger.Room]
    private let told: Set<String>
    /// Later events that were also delivered.
    var toldSince: Set<String> = []

    init(token: String, _ ledger: RoomsLedger) {
        (self.token, rooms, told) = (token, ledger.rooms, ledger.told)
    }

    /// Resets the ledger to the position, from which everything is delivered again.
    func restore(_ ledger: inout RoomsLedger) {
        for room in rooms.indices {
            (ledger.rooms[room].position, ledger.rooms[room].mayJump) = (rooms[room].position, rooms[room].mayJump)
        }
        ledger.told = told.union(toldSince)
    }
}

enum RoomsKind: String, CaseIterable {
    case syncs = "answers applied"
    case firstSyncs = "… of first syncs"
    case lostSyncs = "… lost"
    case events = "events told"
    case gaps = "gaps told"
    case overlaps = "timelines that overlap"
    case leavings = "rooms left"
    case joinings = "rooms joined"
    case sent = "messages sent"
    case confirmed = "… confirmed"
    case failed = "… failed"
    case resent = "… sent again"
    case vanished = "… lost sight of in a gap"
    case messages = "messages to the device told"
    case pages = "pages of history"
    case memberLists = "lists of members"
    case trims = "timelines trimmed"
    case restarts = "processes restarted"
    case catchUps = "… that caught up"
    case streamResets = "streams reset"
}
