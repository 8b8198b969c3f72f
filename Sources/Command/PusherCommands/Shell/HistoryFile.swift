import CommandKit
import Foundation
import TerminalUI

/// The stored history of the shell: `history` in the folder of ``UserFile/Base/state``, one entry per line.
///
/// Several shells can append to it concurrently. Each reads it at its start.
struct HistoryFile: Sendable {
    private let file = UserFile("history", in: .state)

    func read() throws(CommandFailure) -> LineHistory {
        guard let data = try file.read() else { return LineHistory() }
        return LineHistory(String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init))
    }

    /// Appends a line after those added by others.
    func add(_ line: String) throws(CommandFailure) {
        try file.locking { () throws(CommandFailure) in
            var history = try read()
            guard history.add(line) else { return }
            try file.write(Data(history.lines.map { $0 + "\n" }.joined().utf8))
        }
    }
}
