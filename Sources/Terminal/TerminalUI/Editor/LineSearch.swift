/// A backward search through the history, started by Ctrl-R.
struct LineSearch: Sendable {
    /// The original line and its cursor position.
    let line: String
    let cursor: Int
    private(set) var text = ""
    /// The index of the displayed history line; nil until one is found.
    private(set) var match: Int?
    private(set) var isFailing = false
    private let end: Int

    init(line: String, cursor: Int, end: Int) {
        (self.line, self.cursor, self.end) = (line, cursor, end)
    }

    var prompt: String { "(\(isFailing ? "failing " : "")search)“\(text)”: " }

    mutating func type(_ more: String, in history: LineHistory) {
        text += more
        find(in: history, before: (match ?? end - 1) + 1)
    }

    mutating func eraseLast(in history: LineHistory) {
        _ = text.popLast()
        find(in: history, before: end)
    }

    mutating func older(in history: LineHistory) { find(in: history, before: match ?? end) }

    private mutating func find(in history: LineHistory, before index: Int) {
        let found = history.last(containing: text, before: index)
        isFailing = found == nil && !text.isEmpty
        match = found ?? match
    }
}
