package import ArgumentParser

/// Checks options in seconds. Values that are unreasonably small or large, `inf` and `nan` are wrong use.
package enum Seconds {
    /// The maximum, 31 years.
    package static let most = 1_000_000_000.0

    /// - Parameter least: The minimum; `nil` allows anything above zero.
    package static func check(
        _ option: String, _ seconds: Double?, from least: Double? = nil, to most: Double = most
    ) throws(ValidationError) {
        guard let seconds else { return }
        // NaN fails every comparison.
        guard seconds <= most, seconds >= least ?? .leastNonzeroMagnitude else {
            let range = least.map { "from \(number($0))" } ?? "above 0"
            throw ValidationError("\(option) takes seconds, \(range) to \(number(most)).")
        }
    }

    /// Returns a text such as `30 s` or `0.5 s`.
    package static func text(_ seconds: Double) -> String { number(seconds) + " s" }

    private static func number(_ number: Double) -> String {
        Int(exactly: number).map(String.init) ?? "\(number)"
    }
}
