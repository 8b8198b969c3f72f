import CommandKit

/// The outcome of lines.
struct LineTally {
    /// The verb for lines that succeeded: `published`.
    private let deed: String
    private var done = 0
    private var failed = 0
    /// The number of lines that were read but not sent.
    private var unsent = 0
    private var last = 0
    private var worst = ExitStatus.done

    init(deed: String) {
        self.deed = deed
    }

    mutating func succeeded(_ numbers: ClosedRange<Int>, count: Int) {
        last = max(last, numbers.upperBound)
        done += count
    }

    /// Records a line that was not sent, or that the server rejected.
    mutating func refused(_ number: Int, by error: any ReportableError) {
        StandardError.write("error: line \(number) was not \(deed): \(Complaint.text(error))")
        add(1, upTo: number, error.exitStatus)
    }

    /// Records lines that the server may have received.
    mutating func uncertain(_ numbers: ClosedRange<Int>, count: Int, by error: any ReportableError) {
        StandardError.write(
            """
            error: \(Self.words(numbers)) may or may not have been \(deed), and will not be sent again: \
            \(Complaint.text(error))
            """)
        add(count, upTo: numbers.upperBound, error.exitStatus)
    }

    /// Records that the server rejected some of these lines.
    mutating func rejected(_ count: Int, of numbers: ClosedRange<Int>, by error: any ReportableError) {
        let words = Self.words(numbers)
        StandardError.write(
            """
            error: \(count == numbers.count ? words : "\(count) of \(words)") \(count == 1 ? "was" : "were") rejected: \
            \(Complaint.text(error))
            """)
        done -= count
        add(count, upTo: numbers.upperBound, error.exitStatus)
    }

    /// Records that nothing can be sent from this line on.
    mutating func gaveUp(_ number: Int, count: Int, by error: any ReportableError) {
        StandardError.write("error: nothing from line \(number) on was \(deed): \(Complaint.text(error))")
        add(count, upTo: last, error.exitStatus)
    }

    /// Records lines that were not attempted after an error or a stop.
    mutating func leftOut(_ count: Int) { unsent += count }

    private mutating func add(_ count: Int, upTo number: Int, _ status: ExitStatus) {
        failed += count
        last = max(last, number)
        worst = worst.worse(status)
    }

    private static func words(_ numbers: ClosedRange<Int>) -> String {
        numbers.count == 1 ? "line \(numbers.lowerBound)" : "lines \(numbers.lowerBound) to \(numbers.upperBound)"
    }

    /// Concludes the run.
    ///
    /// - Throws: If lines have failed, with the status of the worst failure, or if it was stopped before the end.
    func conclude(_ rest: LineSource.Rest) throws(CommandFailure) {
        var words = "\(done) \(done == 1 ? "line" : "lines") \(deed), \(failed) failed"
        let unsent = unsent + rest.count
        if unsent > 0 { words += ", \(rest.isAll ? "" : "at least ")\(unsent) not sent" }
        // If the task is cancelled, pending work was aborted as well.
        if rest.isStopped, unsent > 0 || !rest.isAll || Task.isCancelled {
            throw CommandFailure(
                .interrupted, "stopped \(last == 0 ? "before line 1" : "after line \(last)"): \(words)")
        }
        if worst != .done { throw CommandFailure(worst, words) }
    }
}
