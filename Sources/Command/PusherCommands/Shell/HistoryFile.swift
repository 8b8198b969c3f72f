import CommandKit
import Foundation
import TerminalUI

/// The history as it outlives the shell: `history` in the folder of ``UserFile/Base/state``, one line each.
///
/// Several shells may add to it at the same time. Each reads it when it starts.
struct HistoryFile: Sendable {
    private let file = UserFile("history", in: .state)

    func read() throws(CommandFailure) -> LineHistory {
        guard let data = try file.read() else { return LineHistory() }
        return LineHistory(String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init))
    }

    /// Adds a line after those that others have added meanwhile.
    func add(_ line: String) throws(CommandFailure) {
        try file.locking { () throws(CommandFailure) in
            var history = try read()
            guard history.add(line) else { return }
            try file.write(Data(history.lines.map { $0 + "\n" }.joined().utf8))
        }
    }
}
