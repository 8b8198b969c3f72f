import ArgumentParser
package import Foundation

/// A time in the past as an option: an age or a date.
package struct PastTime: Sendable {
    package let date: Date

    package static let forms = "30m, 2h, 7d, 2026-01-31, 2026-01-31T12:00, or 2026-01-31T12:00:00Z"

    package init(_ argument: String) throws {
        guard let date = Self.before(argument) ?? Self.absolute(argument) else {
            throw ValidationError("expected a time such as \(Self.forms).")
        }
        guard date <= Date() else { throw ValidationError("this time is in the future.") }
        self.date = date
    }

    private static func before(_ text: String) -> Date? {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), let count = UInt32(text.dropLast()) else { return nil }
        return Date(timeIntervalSinceNow: -Double(count) * unit)
    }

    private static func absolute(_ text: String) -> Date? {
        let standard = ISO8601DateFormatter()
        if let date = standard.date(from: text) { return date }
        standard.formatOptions.insert(.withFractionalSeconds)  // makes the fraction mandatory
        if let date = standard.date(from: text) { return date }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.isLenient = false
        for format in ["yyyy-MM-dd", "yyyy-MM-dd'T'HH:mm", "yyyy-MM-dd'T'HH:mm:ss"] {
            formatter.dateFormat = format
            if let date = formatter.date(from: text) { return date }
        }
        return nil
    }
}
