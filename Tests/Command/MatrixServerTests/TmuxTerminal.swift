import Foundation
import Glibc
import TestSupport
import Testing

/// A terminal of tmux, on a server of its own, in which a shell runs.
final class TmuxTerminal: Sendable {
    private let name = "test-\(UUID().uuidString)"

    /// - Parameter environment: What the shell has beside what the tests have.
    init(columns: Int = 110, rows: Int = 30, environment: [String: String]) throws {
        var arguments = ["-f", "/dev/null", "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)"]
        for (name, value) in environment { arguments += ["-e", "\(name)=\(value)"] }
        // A prompt that a test can wait for, and no history that it would write.
        try tmux(arguments + ["env PS1='ready> ' HISTFILE= LC_ALL=C.UTF-8 bash --norc --noprofile"])
    }

    deinit { _ = try? tmux(["kill-server"]) }

    @discardableResult
    private func tmux(_ arguments: [String]) throws -> String {
        let output = Pipe()
        let process = try ChildProcess(
            "tmux", ["-L", name] + arguments,
            environment: ProcessInfo.processInfo.environment.merging(["LC_ALL": "C.UTF-8"]) { $1 },
            output: output.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        try #require(process.wait() == 0, "tmux \(arguments)")
        return String(decoding: text, as: UTF8.self)
    }

    /// Types a line, as letters.
    func type(_ text: String) throws { try tmux(["send-keys", "-t", "0", "-l", text]) }

    /// Presses keys: `Enter`, `C-c`, `M-t`, `PageUp`.
    func press(_ keys: String...) throws { try tmux(["send-keys", "-t", "0"] + keys) }

    func resize(columns: Int, rows: Int) throws { try tmux(["resize-window", "-x", "\(columns)", "-y", "\(rows)"]) }

    var lines: [String] {
        ((try? tmux(["capture-pane", "-p", "-t", "0"])) ?? "").split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
    }

    /// Of the pane, such as `alternate_on`.
    func value(_ format: String) -> String {
        ((try? tmux(["display-message", "-p", "-t", "0", "#{\(format)}"])) ?? "")
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Waits until a line has this in it.
    func shows(_ text: String) async -> Bool {
        await becomes("not there: \(text)") { $0.lines.contains { $0.contains(text) } }
    }

    /// Waits until no line has this in it.
    func hides(_ text: String) async -> Bool {
        await becomes("still there: \(text)") { !$0.lines.contains { $0.contains(text) } }
    }

    /// Waits until the shell has the terminal again, as it was before.
    func isLeft() async -> Bool {
        await becomes("not left") {
            $0.value("alternate_on") == "0" && $0.value("cursor_flag") == "1" && $0.value("mouse_any_flag") == "0"
                && $0.lines.last { !$0.isEmpty }?.hasPrefix("ready>") == true
        }
    }

    /// - Parameter otherwise: Is printed with what the terminal shows if it does not become so: a test that fails elsewhere is
    ///   understood by that only.
    private func becomes(_ otherwise: String, _ condition: @Sendable (TmuxTerminal) -> Bool) async -> Bool {
        let isSo = await eventually { condition(self) }
        if !isSo { print("\(otherwise)\n\(lines.map { "| \($0)" }.joined(separator: "\n"))") }
        return isSo
    }
}
