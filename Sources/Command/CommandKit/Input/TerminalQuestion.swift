import Foundation

/// Asks for confirmation before an action that cannot be undone.
package enum TerminalQuestion {
    /// Whether a user can answer.
    package static var canBeAsked: Bool { isatty(STDIN_FILENO) == 1 }

    /// Whether there is a terminal, even if standard input is redirected.
    package static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    /// Asks until there is an answer; an empty line means no.
    ///
    /// - Parameter question: The question without the choices.
    package static func isConfirmed(_ question: TerminalText) throws(CommandFailure) -> Bool {
        let answer = try answer(
            "\(question) [y/N] ", ifEmpty: false, withoutTerminal: "there is no terminal to ask on: use --force")
        guard let answer else { throw CommandFailure(.interrupted, "interrupted: nothing is deleted") }
        return answer
    }

    /// Asks until there is an answer. Returns `nil` on Ctrl-C or if the task was cancelled.
    ///
    /// - Parameters:
    ///   - answer: The meaning of an empty line; `nil` asks again.
    ///   - reason: The advice if there is no terminal.
    package static func answer(
        _ question: TerminalText, ifEmpty answer: Bool? = nil, withoutTerminal reason: String
    ) throws(CommandFailure) -> Bool? {
        while let line = try SecretInput.typedLine(question, isShown: true, withoutTerminal: reason) {
            switch line.lowercased().trimmingCharacters(in: .whitespaces) {
            case "y", "yes": return true
            case "n", "no": return false
            case "": if let answer { return answer }
            case _: continue
            }
        }
        return nil
    }
}
