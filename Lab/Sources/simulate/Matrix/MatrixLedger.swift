import Basics
import MatrixProtocol

/// The session's orders and notices so far, as needed by the invariants.
struct MatrixLedger {
    struct Room {
        /// The number of the last delivered event; `nil` before the first sync.
        var lastNumber: Int?
        /// Whether a gap was reported since.
        var mayJump = false
    }

    var state = MXSessionState.storeDataReady
    var wantsToRun = false
    var isHeld = false
    var isClosed = false
    /// Whether the session has given up for a valid reason.
    var hasStopped = false
    var rooms = [Room](repeating: Room(), count: MatrixSchedule.rooms)
    /// Whether an answer was applied since the last `synced`.
    var hasApplied = false
    /// The earliest time for the announced retry.
    var retryDue: MonotonicInstant?
    var failures = FailureBounds()
    var runsSince: MonotonicInstant?
    /// The times of the requests in the last ten seconds.
    var requests: [MonotonicInstant] = []

    mutating func asked() {
        retryDue = nil
        failures.connectAsked()
        hasStopped = false
    }
}

enum MatrixKind: String, CaseIterable {
    case requests = "requests for a sync"
    case longPolls = "… that wait"
    case cancelled = "… given up"
    case cancelledWhileApplying = "… while their answer is applied"
    case background = "… in the background"
    case synced = "syncs told"
    case events = "events told"
    case gaps = "gaps told"
    case firstSyncs = "first syncs"
    case unreachable = "failed: unreachable"
    case timedOut = "failed: timed out"
    case refused = "failed: refused"
    case unauthenticated = "failed: login refused"
    case notStored = "failed: not stored"
    case pauses = "paused"
    case holds = "held"
    case restarts = "processes restarted"
    case streamResets = "streams reset"
    case hints = "network hints"
    case clockJumps = "clock jumps"
}
