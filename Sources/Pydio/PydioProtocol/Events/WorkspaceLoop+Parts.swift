import Basics
import Realtime

extension WorkspaceLoop {
    /// The pending requests before the state is complete.
    struct Needs: Hashable, Sendable {
        var discovery = false
        var registration = false
        var drain = false
        var listing: Listing?
        var changes = false
        /// Whether the changes cover a longer time.
        var isFarBehind = false

        var isEmpty: Bool { self == Needs() }
    }

    /// The knowledge of the workspace that changes are compared with.
    enum Knowledge: Hashable, Sendable {
        case none
        /// The contents of the workspace, or the end of its log, are known.
        case known
        /// Something may have been missed since then, and the listing to check has not ended.
        case suspected
        /// Something was certainly missed since then, and the listing to find it has not ended.
        case missed
        /// A listing has found the missed changes; the messages received meanwhile are pending.
        case comparing(Loss)

        var loss: Loss {
            switch self {
            case .none, .known: .unlikely
            case .suspected: .suspected
            case .missed: .certain
            case .comparing(let loss): loss
            }
        }

        var isComparing: Bool {
            switch self {
            case .comparing: true
            case .none, .known, .suspected, .missed: false
            }
        }

        /// Ends a comparison: the listing is out of date.
        mutating func comparisonEnds() {
            guard isComparing else { return }
            switch loss {
            case .unlikely: self = .known
            case .suspected: self = .suspected
            case .certain: self = .missed
            }
        }

        /// Records a loss: the listing and the earlier knowledge are out of date. Without knowledge, nothing is missed.
        mutating func missed(isGap: Bool) {
            guard self != .none else { return }
            self = isGap || loss == .certain ? .missed : .suspected
        }
    }

    /// The state of the server's change log.
    enum Feed: Hashable, Sendable {
        case unused
        /// - Parameter lastRead: The time of the last read; `nil` until the first one since it is in use.
        case used(lastRead: MonotonicInstant?)
    }

    /// The source of messages about changes.
    enum Messenger: Hashable, Sendable {
        case mailbox
        /// The mailbox, which is being consumed for the last time.
        case handingOver(to: ConnectionMachine.TransportID)
        case socket
    }

    struct Mailbox: Sendable {
        /// The time of the next poll; `nil` if there is none.
        var nextPoll: MonotonicInstant?
        /// The time of the last request to consume: the answer may arrive late.
        var lastConsumed: MonotonicInstant?
    }

    /// Allows one request at a time, at a limited rate: every answer of a server may cause another request, such as
    /// another login.
    struct Turn: Sendable {
        private var step: (number: Int, step: Step)?
        private var last = 0
        private var pace = Pace(interval: .milliseconds(500), burst: 30)
        /// The earliest time of the next request, after many in short order.
        private(set) var notBefore: MonotonicInstant?
        /// The time at which the last request began.
        private(set) var lastBegan: MonotonicInstant?

        var isFree: Bool { step == nil }

        /// The number of the current request.
        var number: Int? { step?.number }

        /// Whether the current request looks for missed changes.
        var isCatchingUp: Bool {
            switch step?.step {
            case .register, .list: true
            case .consume(let purpose): purpose != .everything
            case .discover, .consumeLast, .readChanges, nil: false
            }
        }

        /// - Returns: The number of the request.
        mutating func begin(_ new: Step, now: MonotonicInstant) -> Int {
            last += 1
            step = (last, new)
            lastBegan = now
            notBefore = pace.done(now: now)
            return last
        }

        /// - Returns: The step that ended; `nil` if it is not the current one.
        mutating func end(_ number: Int) -> Step? {
            guard let current = step, current.number == number else { return nil }
            step = nil
            return current.step
        }

        /// - Returns: The abandoned step, if any.
        mutating func giveUp() -> Step? {
            defer { step = nil }
            return step?.step
        }

        mutating func timePassed(now: MonotonicInstant) {
            if let time = notBefore, time <= now { notBefore = nil }
        }
    }
}
