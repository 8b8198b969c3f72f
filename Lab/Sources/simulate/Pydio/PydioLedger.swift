import Basics
import Realtime

/// The machine's orders and notices so far, as needed by the invariants.
struct PydioLedger {
    var state = ConnectionState.disconnected
    var wantsToRun = false
    var isHeld = false
    var readerHolds = 0
    var isClosed = false
    /// Whether the machine has given up for a valid reason.
    var hasStopped = false

    /// The workspace as known to the application: its first contents and all reported changes.
    var mirror: [String: Int]?
    /// The newest change that the first listing may have included.
    var baseline = 0
    /// The number of the last change that was reported as it happened.
    var lastTold = 0
    /// Whether a gap was reported, and the mirror has not caught up since.
    var mayJump = false
    /// Whether the last notice was a gap.
    var isAfterGap = false
    /// Whether the log has started over and lost its entries.
    var owesGap = false
    var lastSequence: Int64 = 0

    /// The earliest time for the announced retry.
    var retryDue: MonotonicInstant?
    var failures = FailureBounds()
    var connectedAt: MonotonicInstant?
    /// The times of the requests in the last ten seconds.
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
