import Foundation

/// Finds unmarked addresses in text: of pages, users, rooms and events.
enum LinkDetector {
    /// - Parameter accepts: Returns whether ids with this sigil become links; receives `h` for web addresses.
    static func runs(_ run: MXKText.Run, accepts: (Character) -> Bool) -> [MXKText.Run] {
        var (runs, plain) = ([MXKText.Run](), "")
        for word in words(run.text) {
            let (core, end) = withoutPunctuation(word)
            guard let url = url(core, accepts) else {
                plain += word
                continue
            }
            if !plain.isEmpty { runs.append(MXKText.Run(plain, run.style)) }
            var style = run.style
            style.link = url
            style.pill = MXKText.Pill(url)
            runs.append(MXKText.Run(String(core), style))
            plain = String(end)
        }
        if !plain.isEmpty || runs.isEmpty { runs.append(MXKText.Run(plain, run.style)) }
        return runs
    }

    /// Splits the text into words and the spaces between them.
    private static func words(_ text: String) -> [Substring] {
        var (words, start) = ([Substring](), text.startIndex)
        var wasSpace: Bool?
        for index in text.indices {
            let isSpace = text[index].isWhitespace
            if let wasSpace, wasSpace != isSpace {
                words.append(text[start..<index])
                start = index
            }
            wasSpace = isSpace
        }
        if start < text.endIndex { words.append(text[start...]) }
        return words
    }

    /// Removes trailing punctuation that is not part of an address, such as the end of a sentence or an unmatched
    /// bracket.
    private static func withoutPunctuation(_ word: Substring) -> (core: Substring, end: Substring) {
        var end = word.endIndex
        // Opening brackets are never removed.
        let hasOpening = word.contains("(")
        while end > word.startIndex {
            let before = word.index(before: end)
            let isLoose = word[before] == ")" && !hasOpening
            guard ".,;:!?»”’\"'>]".contains(word[before]) || isLoose else { break }
            end = before
        }
        return (word[..<end], word[end...])
    }

    private static func url(_ word: Substring, _ accepts: (Character) -> Bool) -> URL? {
        guard word.utf8.count > 3, word.utf8.count <= 2048, let first = word.first else { return nil }
        if "@!#$".contains(first) {
            guard accepts(first), first == "$" || word.dropFirst().contains(":"), isID(word) else { return nil }
            let encoded = word.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed.subtracting(["/"]))
            // An event id alone is not enough: links to events include their room.
            return first == "$" ? nil : encoded.flatMap { URL(string: "https://matrix.to/#/\($0)") }
        }
        let lowercased = word.prefix(8).lowercased()
        guard lowercased.hasPrefix("https://") || lowercased.hasPrefix("http://") || lowercased.hasPrefix("mailto:")
        else { return nil }
        guard accepts("h"), let url = URL(string: String(word)) else { return nil }
        return url.scheme == "mailto" || url.host() != nil ? url : nil
    }

    private static func isID(_ word: Substring) -> Bool {
        word.utf8.count <= 255 && word.unicodeScalars.allSatisfy { $0.value > 0x20 && $0 != "\u{7F}" }
    }
}
