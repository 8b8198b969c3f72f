/// What the session has told so far, as far as the invariants need it.
struct RoomsLedger {
    struct Room {
        /// Up to where in the stream everything is accounted for: told, history, or lost in a gap that was told.
        var position = 0
        /// A gap was told, and nothing since.
        var mayJump = false
        /// The last message that the room's summary has named, and its time.
        var lastMessage: String?
        var lastMessageTs: UInt64 = 0
        /// What was on its way then is gone.
        var hasBeenLeft = false
    }

    var rooms = [Room](repeating: Room(), count: RoomsSchedule.rooms)
    var told: Set<String> = []
    /// Messages to the device, by their numbers.
    var messages: Set<Int> = []
    var lastMessage = 0
    /// Transaction ids of all that was sent and not given up.
    var sent: [String: Int] = [:]
    var lastTransaction = 0
    /// Rooms whose receipts are not at the server yet: the application asks again.
    var receipts: Set<Int> = []
    var isSyncing = true
    var isClosed = false
}

/// How far somebody has listened, as `listen` notes it: what came after it is told once more by the next process.
struct RoomsMark {
    let token: String
    /// What had been told by then.
    private let rooms: [RoomsLedger.Room]
    private let told: Set<String>
    /// Events after it that were told, too.
    var toldSince: Set<String> = []

    init(token: String, _ ledger: RoomsLedger) {
        (self.token, rooms, told) = (token, ledger.rooms, ledger.told)
    }

    /// From here on everything is to be told.
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
