/// Dates in header fields.
enum HTTPDate {
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// Returns the seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`, also with hyphens and with a two-digit year;
    /// `nil` if it is not a date.
    static func seconds(_ text: String) -> Int? {
        let words = text.split(whereSeparator: { $0 == " " || $0 == "-" || $0 == "," })
        guard words.count >= 5, let day = Int(words[1]), let month = months.firstIndex(of: words[2].lowercased()),
            var year = Int(words[3]), (1...31).contains(day), (0...9999).contains(year)
        else { return nil }
        let clock = words[4].split(separator: ":").compactMap { Int($0) }
        guard clock.count == 3, clock.allSatisfy({ (0..<61).contains($0) }) else { return nil }
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        return days(year, month + 1, day) * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
    }

    /// Returns the days since 1970-01-01 of the Gregorian calendar. Years begin in March, so that a leap day is their
    /// last.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month > 2 ? year : year - 1
        let month = month > 2 ? month - 3 : month + 9
        return year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468
    }
}
