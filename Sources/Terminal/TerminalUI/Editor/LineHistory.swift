/// The lines that were entered, oldest first.
public struct LineHistory: Sendable {
    /// Older lines are dropped.
    public static let maximumCount = 1000
    /// In bytes of UTF-8, of all lines together.
    public static let maximumSize = 256 << 10
    /// Longer lines are not kept.
    public static let maximumLine = 8 << 10

    /// Oldest first.
    public private(set) var lines: [String] = []

    /// The lines of these that are worth keeping: see ``add(_:)``.
    public init(_ lines: some Sequence<String> = []) {
        for line in lines { add(line) }
    }

    /// Keeps a line, unless it is empty, starts with a space, is too long or repeats the one before.
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

    /// The newest line before `index` that has `text` in it.
    func last(containing text: String, before index: Int) -> Int? {
        text.isEmpty ? nil : lines[..<index].lastIndex { $0.contains(text) }
    }
}
