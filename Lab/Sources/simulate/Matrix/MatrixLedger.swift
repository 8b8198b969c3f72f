import Basics
import MatrixProtocol

/// What the session has ordered and told so far, as far as the invariants need it.
struct MatrixLedger {
    struct Room {
        /// The number of the event told last; nil before the first sync.
        var lastNumber: Int?
        /// A gap was told since.
        var mayJump = false
    }

    var state = MXSessionState.storeDataReady
    var wantsToRun = false
    var isHeld = false
    var isClosed = false
    /// It has given up, and may.
    var hasStopped = false
    var rooms = [Room](repeating: Room(), count: MatrixSchedule.rooms)
    /// An answer was applied since the last `synced`.
    var hasApplied = false
    /// The retry that was announced must not come before.
    var retryDue: MonotonicInstant?
    var failures = FailureBounds()
    var runsSince: MonotonicInstant?
    /// When requests were made, of the last ten seconds.
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
