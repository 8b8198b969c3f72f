import CommandKit

/// What has become of lines.
struct LineTally {
    /// What was done with those that did not fail: `published`.
    private let deed: String
    private var done = 0
    private var failed = 0
    /// Lines that were taken from the input, and then not sent.
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

    /// A line that was not sent, or that the server did not take.
    mutating func refused(_ number: Int, by error: any ReportableError) {
        StandardError.write("error: line \(number) was not \(deed): \(Complaint.text(error))")
        add(1, upTo: number, error.exitStatus)
    }

    /// Lines that the server may have got.
    mutating func uncertain(_ numbers: ClosedRange<Int>, count: Int, by error: any ReportableError) {
        StandardError.write(
            """
            error: \(Self.words(numbers)) may or may not have been \(deed), and will not be sent again: \
            \(Complaint.text(error))
            """)
        add(count, upTo: numbers.upperBound, error.exitStatus)
    }

    /// Lines of which the server has rejected some.
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

    /// After this line nothing more can be done.
    mutating func gaveUp(_ number: Int, count: Int, by error: any ReportableError) {
        StandardError.write("error: nothing from line \(number) on was \(deed): \(Complaint.text(error))")
        add(count, upTo: last, error.exitStatus)
    }

    /// Lines that nothing was tried with, since nothing more could be done or was wanted.
    mutating func leftOut(_ count: Int) { unsent += count }

    private mutating func add(_ count: Int, upTo number: Int, _ status: ExitStatus) {
        failed += count
        last = max(last, number)
        worst = worst.worse(status)
    }

    private static func words(_ numbers: ClosedRange<Int>) -> String {
        numbers.count == 1 ? "line \(numbers.lowerBound)" : "lines \(numbers.lowerBound) to \(numbers.upperBound)"
    }

    /// How it ends.
    ///
    /// - Throws: If lines have failed, with the status of the worst failure; if it was stopped before the end.
    func conclude(_ rest: LineSource.Rest) throws(CommandFailure) {
        var words = "\(done) \(done == 1 ? "line" : "lines") \(deed), \(failed) failed"
        let unsent = unsent + rest.count
        if unsent > 0 { words += ", \(rest.isAll ? "" : "at least ")\(unsent) not sent" }
        // Cancelled: what was under way was broken off, too.
        if rest.isStopped, unsent > 0 || !rest.isAll || Task.isCancelled {
            throw CommandFailure(
                .interrupted, "stopped \(last == 0 ? "before line 1" : "after line \(last)"): \(words)")
        }
        if worst != .done { throw CommandFailure(worst, words) }
    }
}
