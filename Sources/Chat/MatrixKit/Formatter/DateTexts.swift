import Foundation

/// Formats dates and times for a locale and a time zone.
struct DateTexts {
    private let calendar: Calendar
    private let timeStyle: Date.FormatStyle
    private let monthStyle: Date.FormatStyle
    private let yearStyle: Date.FormatStyle
    private let dayStyle: Date.FormatStyle
    /// Returns the current date; tests replace it.
    var now: () -> Date = { Date() }

    init(locale: Locale = .current, timeZone: TimeZone = .current) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        calendar.locale = locale
        self.calendar = calendar
        let style = Date.FormatStyle(locale: locale, calendar: calendar, timeZone: timeZone)
        timeStyle = style.hour().minute()
        monthStyle = style.day().month(.abbreviated)
        yearStyle = style.day().month(.abbreviated).year()
        dayStyle = style.weekday(.abbreviated).day().month(.abbreviated).year()
    }

    func time(_ date: Date) -> String {
        let parts = calendar.dateComponents([.hour, .minute], from: date)
        func digits(_ number: Int?) -> String { (number ?? 0) < 10 ? "0\(number ?? 0)" : "\(number ?? 0)" }
        return "\(digits(parts.hour)):\(digits(parts.minute))"
    }

    func short(_ date: Date, withTime: Bool) -> String {
        let time = date.formatted(timeStyle)
        if calendar.isDate(date, inSameDayAs: now()) { return time }
        let isThisYear = calendar.component(.year, from: date) == calendar.component(.year, from: now())
        let day = date.formatted(isThisYear ? monthStyle : yearStyle)
        return withTime ? "\(day) \(time)" : day
    }

    func day(_ date: Date) -> String { date.formatted(dayStyle) }

    func isSameDay(_ left: Date, _ right: Date) -> Bool { calendar.isDate(left, inSameDayAs: right) }

    /// Returns the number of days before today: 0 for today, `nil` for a future day.
    func daysAgo(_ date: Date) -> Int? {
        let days = calendar.dateComponents(
            [.day], from: calendar.startOfDay(for: date), to: calendar.startOfDay(for: now()))
        return days.day.flatMap { $0 >= 0 ? $0 : nil }
    }
}
