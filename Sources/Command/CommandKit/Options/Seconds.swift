package import ArgumentParser

/// The one check of options that are numbers of seconds: what is too small or too large to make sense is wrong use, and so are
/// `inf` and `nan`.
package enum Seconds {
    /// 31 years.
    package static let most = 1_000_000_000.0

    /// - Parameter least: Nil is anything above zero.
    package static func check(
        _ option: String, _ seconds: Double?, from least: Double? = nil, to most: Double = most
    ) throws(ValidationError) {
        guard let seconds else { return }
        // Nothing compares with NaN.
        guard seconds <= most, seconds >= least ?? .leastNonzeroMagnitude else {
            let range = least.map { "from \(number($0))" } ?? "above 0"
            throw ValidationError("\(option) takes seconds, \(range) to \(number(most)).")
        }
    }

    /// `30 s`, `0.5 s`
    package static func text(_ seconds: Double) -> String { number(seconds) + " s" }

    private static func number(_ number: Double) -> String {
        Int(exactly: number).map(String.init) ?? "\(number)"
    }
}
