import Basics
import Realtime

/// What the machine has ordered and told so far, as far as the invariants need it.
struct PydioLedger {
    var state = ConnectionState.disconnected
    var wantsToRun = false
    var isHeld = false
    var readerHolds = 0
    var isClosed = false
    /// It has given up, and may.
    var hasStopped = false

    /// The workspace as the application knows it: what there was at first, and all that was told since.
    var mirror: [String: Int]?
    /// Changes up to this one may have been in the first listing.
    var baseline = 0
    /// The number of the change that was told last, as it happened.
    var lastTold = 0
    /// A gap was told, and what is known has not caught up since.
    var mayJump = false
    /// The last thing that was told is a gap.
    var isAfterGap = false
    /// The log began anew, and what was in it was lost.
    var owesGap = false
    var lastSequence: Int64 = 0

    /// The retry that was announced must not come before.
    var retryDue: MonotonicInstant?
    var failures = FailureBounds()
    var connectedAt: MonotonicInstant?
    /// When requests were made, of the last ten seconds.
    var requests: [MonotonicInstant] = []

    mutating func asked() {
        retryDue = nil
        failures.connectAsked()
        hasStopped = false
    }
}

enum PydioKind: String, CaseIterable {
    case requests = "requests"
    case polls = "polls"
    case lastPolls = "last polls before a WebSocket"
    case listings = "listings"
    case comparisons = "… to be compared"
    case feedReads = "readings of the log"
    case cancelled = "given up"
    case connected = "up to date"
    case events = "events told"
    case lateEvents = "… late"
    case gaps = "gaps told"
    case failures = "failures"
    case stops = "given up for good"
    case sockets = "WebSockets opened"
    case socketMessages = "messages of WebSockets"
    case socketFailures = "failures of WebSockets told"
    case sessionsLost = "sessions lost"
    case mailboxesLost = "mailboxes lost"
    case feedResets = "logs begun anew"
    case holds = "holds reported"
    case hints = "network hints"
    case clockJumps = "clock jumps"
}
