import Basics
import TestSupport

extension FakePydioServer {
    /// Faults in the rows of the changes feed: a server records a change after it has answered, and never if it is
    /// killed before that.
    package struct LogFaults: Sendable {
        enum Fault {
            case told
            case missing
            case doubled
            /// Delivered this many changes later, with a number of that time.
            case late(Int)
            /// Inserted late with its early number: a client that has read on misses it.
            case overtaken(Int)
        }

        /// Rows per hundred that are missing, duplicated, late, and late with an early number.
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

    /// Sets the faults of the changes feed; `nil` ends them and delivers all late rows.
    package func setLogFaults(_ faults: LogFaults?) {
        core.state.withLock { state in
            state.changes.faults = faults
            if faults == nil { state.changes.endLateness() }
        }
    }
}
