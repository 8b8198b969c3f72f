import Foundation
import Glibc
import TestSupport
import Testing

/// A terminal of tmux with a shell, on a separate tmux server.
final class TmuxTerminal: Sendable {
    private let name = "test-\(UUID().uuidString)"

    /// - Parameter environment: Variables for the shell, in addition to those of the tests.
    init(columns: Int = 110, rows: Int = 30, environment: [String: String]) async throws {
        var arguments = ["-f", "/dev/null", "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)"]
        for (name, value) in environment { arguments += ["-e", "\(name)=\(value)"] }
        // A prompt that a test can wait for, and no history file.
        try await tmux(arguments + ["env PS1='ready> ' HISTFILE= LC_ALL=C.UTF-8 bash --norc --noprofile"])
    }

    deinit {
        Task { [name] in _ = try? await ChildProcess.run("tmux", ["-L", name, "kill-server"]) }
    }

    @discardableResult
    private func tmux(_ arguments: [String]) async throws -> String {
        let outcome = try await ChildProcess.run(
            "tmux", ["-L", name] + arguments,
            environment: ProcessInfo.processInfo.environment.merging(["LC_ALL": "C.UTF-8"]) { $1 })
        try #require(outcome.status == 0, "tmux \(arguments): \(outcome.errors)")
        return outcome.text
    }

    /// Types a line as letters.
    func type(_ text: String) async throws { try await tmux(["send-keys", "-t", "0", "-l", text]) }

    /// Presses keys: `Enter`, `C-c`, `M-t`, `PageUp`.
    func press(_ keys: String...) async throws { try await tmux(["send-keys", "-t", "0"] + keys) }

    func resize(columns: Int, rows: Int) async throws {
        try await tmux(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
    }

    var lines: [String] {
        get async {
            ((try? await tmux(["capture-pane", "-p", "-t", "0"])) ?? "")
                .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        }
    }

    /// Returns a value of the pane, such as `#{alternate_on}`.
    func value(_ format: String) async -> String {
        ((try? await tmux(["display-message", "-p", "-t", "0", format])) ?? "")
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Waits until a line contains the text.
    func shows(_ text: String) async -> Bool {
        await becomes("not there: \(text)") { await $0.lines.contains { $0.contains(text) } }
    }

    /// Waits until no line contains the text.
    func hides(_ text: String) async -> Bool {
        await becomes("still there: \(text)") { await !$0.lines.contains { $0.contains(text) } }
    }

    /// Waits until the shell has the terminal back in its earlier state.
    func isLeft() async -> Bool {
        await becomes("not left") {
            guard await $0.value("#{alternate_on} #{cursor_flag} #{mouse_any_flag}") == "0 1 0" else { return false }
            return await $0.lines.last { !$0.isEmpty }?.hasPrefix("ready>") == true
        }
    }

    /// - Parameter otherwise: A text to print with the terminal's content on failure, which is the only way to
    ///   understand a test that fails elsewhere.
    private func becomes(_ otherwise: String, _ condition: @Sendable (TmuxTerminal) async -> Bool) async -> Bool {
        let isSo = await eventually { await condition(self) }
        if !isSo { print("\(otherwise)\n\(await lines.map { "| \($0)" }.joined(separator: "\n"))") }
        return isSo
    }
}
