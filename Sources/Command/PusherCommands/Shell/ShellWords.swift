import CommandKit

/// Splits a line into words like a shell: `'…'` is literal, in `"…"` a backslash escapes `"` and `\`, elsewhere any
/// character.
struct ShellWords {
    /// The unfinished word at the end of the text.
    struct OpenWord: Hashable {
        var text = ""
        /// The start of the word, including its quote.
        let start: String.Index
        /// The open quote at its end; `nil` if there is none.
        var quote: Unicode.Scalar?
    }

    /// The words followed by a space.
    private(set) var complete: [String] = []
    /// The unfinished word; `nil` if the text is empty or ends in a space.
    private(set) var open: OpenWord?
    private(set) var endsInBackslash = false
    /// The start of each word, including the unfinished one.
    private(set) var starts: [String.Index] = []

    init(_ text: String) {
        var isEscaped = false
        for index in text.unicodeScalars.indices {
            let scalar = text.unicodeScalars[index]
            if isEscaped {
                isEscaped = false
                if open?.quote == "\"", scalar != "\"", scalar != "\\" { append("\\", at: index) }
                append(scalar, at: index)
            } else if scalar == "\\", open?.quote != "'" {
                isEscaped = true
                begin(at: index)
            } else if let quote = open?.quote {
                if scalar == quote { open?.quote = nil } else { append(scalar, at: index) }
            } else if scalar == "'" || scalar == "\"" {
                begin(at: index)
                open?.quote = scalar
            } else if scalar.properties.isWhitespace {
                if let word = open { complete.append(word.text) }
                open = nil
            } else {
                append(scalar, at: index)
            }
        }
        endsInBackslash = isEscaped
    }

    /// Returns all words of a complete line.
    static func split(_ line: String) throws(CommandFailure) -> [String] {
        let words = ShellWords(line)
        if let quote = words.open?.quote {
            throw CommandFailure(.badData, "a quote is not closed: another \(quote) is missing")
        }
        guard !words.endsInBackslash else {
            throw CommandFailure(.badData, "nothing follows the \\ at the end of the line")
        }
        return words.complete + (words.open.map { [$0.text] } ?? [])
    }

    /// Returns `text` as a quoted word, starting with `quote` if given.
    ///
    /// - Parameter isWhole: Whether the word is complete: its quote is closed and a space added.
    static func quoted(_ text: String, in quote: Unicode.Scalar?, isWhole: Bool) -> String {
        var result = quote.map { String($0) } ?? ""
        for scalar in text.unicodeScalars {
            switch (quote, scalar) {
            case ("'", "'"): result += #"'\''"#
            case ("\"", "\""), ("\"", "\\"): result += "\\\(scalar)"
            case (nil, "'"), (nil, "\""), (nil, "\\"), (nil, "#"): result += "\\\(scalar)"
            case (nil, _) where scalar.properties.isWhitespace: result += "\\\(scalar)"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + (isWhole ? (quote.map { String($0) } ?? "") + " " : "")
    }

    private mutating func begin(at index: String.Index) {
        guard open == nil else { return }
        open = OpenWord(start: index)
        starts.append(index)
    }

    private mutating func append(_ scalar: Unicode.Scalar, at index: String.Index) {
        begin(at: index)
        open?.text.unicodeScalars.append(scalar)
    }
}
