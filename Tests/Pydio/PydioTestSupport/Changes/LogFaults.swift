import Basics
import TestSupport

extension FakePydioServer {
    /// Faults of the rows of the changes feed: a server records a change after it has answered, and what it is
    /// killed before is never told.
    package struct LogFaults: Sendable {
        enum Fault {
            case told
            case missing
            case doubled
            /// So many changes later, with a number of then.
            case late(Int)
            /// Inserted late with its early number: a client that has read on never hears of it.
            case overtaken(Int)
        }

        /// Rows of a hundred that never come, come twice, come later, and come later with an early number.
        package var missing = 15
        package var doubled = 10
        package var late = 10
        package var overtaken = 10
        private var random: XorShift

        package init(seed: UInt64) {
            random = XorShift(seed: seed)
        }

        /// Every row is missing.
        package static var all: LogFaults {
            var faults = LogFaults(seed: 1)
            faults.missing = 100
            return faults
        }

        mutating func next() -> Fault {
            var number = Int.random(in: 0..<100, using: &random)
            for (share, fault) in [
                (missing, Fault.missing), (doubled, .doubled), (late, .late(Int.random(in: 1..<20, using: &random))),
                (overtaken, .overtaken(Int.random(in: 1..<20, using: &random))),
            ] {
                if number < share { return fault }
                number -= share
            }
            return .told
        }
    }

    /// Lets the changes feed be wrong from now on; nil ends it, and tells at last what is late.
    package func setLogFaults(_ faults: LogFaults?) {
        core.state.withLock { state in
            state.changes.faults = faults
            if faults == nil { state.changes.endLateness() }
        }
    }
}
