import Basics
import Realtime

extension WorkspaceLoop {
    /// What is still to be asked before things are as they should be.
    struct Needs: Hashable, Sendable {
        var discovery = false
        var registration = false
        var drain = false
        var listing: Listing?
        var changes = false
        /// Whether the changes are those of a longer time.
        var isFarBehind = false

        var isEmpty: Bool { self == Needs() }
    }

    /// What is known of the workspace, against which changes are told.
    enum Knowledge: Hashable, Sendable {
        case none
        /// What was in it, or where its log ends.
        case known
        /// Something may have been missed since then, and the listing that finds out has not ended.
        case suspected
        /// Something was missed for certain since then, and the listing that finds out what has not ended.
        case missed
        /// It was listed to find out what was missed, and the messages that came meanwhile are waited for.
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

        /// What was listed is out of date.
        mutating func comparisonEnds() {
            guard isComparing else { return }
            switch loss {
            case .unlikely: self = .known
            case .suspected: self = .suspected
            case .certain: self = .missed
            }
        }

        /// What was listed is out of date, and so is what was known. Where nothing is known, nothing is missed.
        mutating func missed(isGap: Bool) {
            guard self != .none else { return }
            self = isGap || loss == .certain ? .missed : .suspected
        }
    }

    /// The server's log of changes.
    enum Feed: Hashable, Sendable {
        case unused
        /// - Parameter lastRead: Nil until it was read since it has been in use.
        case used(lastRead: MonotonicInstant?)
    }

    /// What tells that something has happened.
    enum Messenger: Hashable, Sendable {
        case mailbox
        /// The mailbox, which is consumed for the last time.
        case handingOver(to: ConnectionMachine.TransportID)
        case socket
    }

    struct Mailbox: Sendable {
        /// Nil: it is not polled.
        var nextPoll: MonotonicInstant?
        /// When that was asked for: the answer may come late.
        var lastConsumed: MonotonicInstant?
    }

    /// One request at a time, and not as fast as the network is: a server's every answer may ask for more, such as another
    /// login.
    struct Turn: Sendable {
        private var step: (number: Int, step: Step)?
        private var last = 0
        private var pace = Pace(interval: .milliseconds(500), burst: 30)
        /// When the next may begin, after many at once.
        private(set) var notBefore: MonotonicInstant?
        /// When the last one did.
        private(set) var lastBegan: MonotonicInstant?

        var isFree: Bool { step == nil }

        /// Of what is under way.
        var number: Int? { step?.number }

        /// Whether it is to find out what was missed.
        var isCatchingUp: Bool {
            switch step?.step {
            case .register, .list: true
            case .consume(let purpose): purpose != .everything
            case .discover, .consumeLast, .readChanges, nil: false
            }
        }

        /// - Returns: Its number.
        mutating func begin(_ new: Step, now: MonotonicInstant) -> Int {
            last += 1
            step = (last, new)
            lastBegan = now
            notBefore = pace.done(now: now)
            return last
        }

        /// - Returns: What it was; nil if it is not under way.
        mutating func end(_ number: Int) -> Step? {
            guard let current = step, current.number == number else { return nil }
            step = nil
            return current.step
        }

        /// - Returns: What there was to give up.
        mutating func giveUp() -> Step? {
            defer { step = nil }
            return step?.step
        }

        mutating func timePassed(now: MonotonicInstant) {
            if let time = notBefore, time <= now { notBefore = nil }
        }
    }
}
