/// The entered lines, oldest first.
public struct LineHistory: Sendable {
    /// The maximum number of lines. Older lines are discarded.
    public static let maximumCount = 1000
    /// The maximum size of all lines together, in bytes of UTF-8.
    public static let maximumSize = 256 << 10
    /// The maximum size of a line. Longer lines are not kept.
    public static let maximumLine = 8 << 10

    /// The lines, oldest first.
    public private(set) var lines: [String] = []

    /// Creates a history from lines, skipping those that ``add(_:)`` does not keep.
    public init(_ lines: some Sequence<String> = []) {
        for line in lines { add(line) }
    }

    /// Adds a line, unless it is empty, starts with a space, is too long or repeats the previous one.
    ///
    /// - Returns: Whether it was kept.
    @discardableResult
    public mutating func add(_ line: String) -> Bool {
        guard Self.keeps(line), line != lines.last else { return false }
        lines.append(line)
        var size = lines.reduce(0) { $0 + $1.utf8.count + 1 }
        var surplus = max(lines.count - Self.maximumCount, 0)
        size -= lines.prefix(surplus).reduce(0) { $0 + $1.utf8.count + 1 }
        while size > Self.maximumSize {
            size -= lines[surplus].utf8.count + 1
            surplus += 1
        }
        lines.removeFirst(surplus)
        return true
    }

    private static func keeps(_ line: String) -> Bool {
        !line.isEmpty && !line.hasPrefix(" ") && line.utf8.count <= maximumLine && !line.contains(where: \.isNewline)
    }

    func last(containing text: String, before index: Int) -> Int? {
        text.isEmpty ? nil : lines[..<index].lastIndex { $0.contains(text) }
    }
}
