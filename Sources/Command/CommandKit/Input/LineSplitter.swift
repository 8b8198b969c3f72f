/// A line of input, without the LF or CRLF at its end.
package struct InputLine: Sendable {
    /// Counted from 1.
    package let number: Int
    /// Fails if it is too long, or not UTF-8.
    package let text: Result<String, CommandFailure>
}

/// Cuts bytes into lines. Keeps no more of a line than may be in one.
package struct LineSplitter {
    private let maximumLength: Int
    private var number = 0
    private var bytes: [UInt8] = []
    /// Of the line that has not ended, what is not kept included.
    private var length = 0
    private var endsInReturn = false
    /// Whether the line that has not ended was given already, as one that is too long.
    private var isRefused = false

    /// - Parameter maximumLength: Bytes of one line. A longer one fails, before it ends if that is not near, and the next one
    ///   is fine.
    package init(maximumLength: Int) {
        self.maximumLength = maximumLength
    }

    /// The lines that end in the next bytes, and the one behind them if it is too long.
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
        // One byte more may be a return.
        if length > maximumLength + 1, !isRefused {
            isRefused = true
            number += 1
            let failure = CommandFailure(
                .badData, "it has more than the \(maximumLength) bytes that are allowed; the rest of it is skipped")
            lines.append(InputLine(number: number, text: .failure(failure)))
        }
        return lines
    }

    /// The line behind the last line end; nil if there is none, or it was refused.
    package mutating func end() -> InputLine? {
        length == 0 ? nil : finish()
    }

    private mutating func add(_ part: ArraySlice<UInt8>) {
        bytes += part.prefix(maximumLength - bytes.count)
        length += part.count
        if let last = part.last { endsInReturn = last == UInt8(ascii: "\r") }
    }

    /// A return that makes the line one byte too long has not been kept.
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
