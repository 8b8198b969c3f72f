/// A line of input, without the LF or CRLF at its end.
package struct InputLine: Sendable {
    /// The line number, starting at 1.
    package let number: Int
    /// The text, or a failure if the line is too long or not UTF-8.
    package let text: Result<String, CommandFailure>
}

/// Splits bytes into lines. Keeps no more of a line than its maximum length.
package struct LineSplitter {
    private let maximumLength: Int
    private var number = 0
    private var bytes: [UInt8] = []
    /// The length of the unfinished line, including discarded bytes.
    private var length = 0
    private var endsInReturn = false
    /// Whether the unfinished line was already reported as too long.
    private var isRefused = false

    /// - Parameter maximumLength: The maximum length of a line, in bytes. A longer line fails, possibly before its end;
    ///   the next one is not affected.
    package init(maximumLength: Int) {
        self.maximumLength = maximumLength
    }

    /// Returns the lines that end in these bytes, and the unfinished one if it is too long.
    package mutating func split(_ chunk: ArraySlice<UInt8>) -> [InputLine] {
        var lines: [InputLine] = []
        var rest = chunk
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            add(rest[..<end])
            dropReturn()
            if let line = finish() { lines.append(line) }
            rest = rest[(end + 1)...]
        }
        add(rest)
        // One more byte may be a carriage return.
        if length > maximumLength + 1, !isRefused {
            isRefused = true
            number += 1
            let failure = CommandFailure(
                .badData, "it has more than the \(maximumLength) bytes that are allowed; the rest of it is skipped")
            lines.append(InputLine(number: number, text: .failure(failure)))
        }
        return lines
    }

    /// Returns the text after the last line end; `nil` if there is none or it was already reported as too long.
    package mutating func end() -> InputLine? {
        length == 0 ? nil : finish()
    }

    private mutating func add(_ part: ArraySlice<UInt8>) {
        bytes += part.prefix(maximumLength - bytes.count)
        length += part.count
        if let last = part.last { endsInReturn = last == UInt8(ascii: "\r") }
    }

    /// Drops the carriage return of a line end. One that exceeds the maximum length was not kept.
    private mutating func dropReturn() {
        guard endsInReturn else { return }
        length -= 1
        if bytes.count > length { bytes.removeLast() }
    }

    private mutating func finish() -> InputLine? {
        defer { (bytes, length, endsInReturn, isRefused) = ([], 0, false, false) }
        if isRefused { return nil }
        number += 1
        return InputLine(number: number, text: text)
    }

    private var text: Result<String, CommandFailure> {
        guard length <= maximumLength else {
            return .failure(
                CommandFailure(.badData, "it has \(length) bytes, at most \(maximumLength) are allowed"))
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return .failure(CommandFailure(.badData, "it is not UTF-8 text"))
        }
        return .success(text)
    }
}
