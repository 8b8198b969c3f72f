import Foundation
import TerminalUI
import TestSupport
import Testing

/// Drawn output as readable files. `REWRITE_SNAPSHOTS=1` rewrites the files.
enum Snapshot {
    static let widths = [20, 40, 80, 120, 200]

    static func line(_ line: TerminalLine, _ columns: Int) -> String {
        line.fitted(to: columns).cells.map(\.cluster).joined() + "│\n"
    }

    /// The text of a surface below a title.
    static func text(_ title: String, _ surface: TerminalSurface) -> String {
        title + ":\n" + surface.lines.map { line($0, surface.columns) }.joined()
    }

    static func compare(_ text: String, with path: String) throws {
        if ProcessInfo.processInfo.environment["REWRITE_SNAPSHOTS"] != nil { try Fixtures.rewrite(path, text) }
        let expected = try Fixtures.text(path).split(separator: "\n", omittingEmptySubsequences: false)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (number, pair) in zip(lines, expected).enumerated() where pair.0 != pair.1 {
            Issue.record("\(path):\(number + 1): “\(pair.0)”, not “\(pair.1)”")
            return
        }
        #expect(lines.count == expected.count)
    }
}
