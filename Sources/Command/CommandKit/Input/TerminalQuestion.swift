import Foundation

/// A question that is answered with yes or no before something is done that cannot be undone.
package enum TerminalQuestion {
    /// Whether somebody is there to answer.
    package static var canBeAsked: Bool { isatty(STDIN_FILENO) == 1 }

    /// Whether there is a terminal, wherever standard input comes from.
    package static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    /// Asks until there is an answer; an empty line is no.
    ///
    /// - Parameter question: Without the choices.
    package static func isConfirmed(_ question: TerminalText) throws(CommandFailure) -> Bool {
        let answer = try answer(
            "\(question) [y/N] ", ifEmpty: false, withoutTerminal: "there is no terminal to ask on: use --force")
        guard let answer else { throw CommandFailure(.interrupted, "interrupted: nothing is deleted") }
        return answer
    }

    /// Asks until there is an answer. Nil if Ctrl-C was typed, or the task was cancelled.
    ///
    /// - Parameters:
    ///   - answer: What an empty line means; nil asks again.
    ///   - reason: Says what to do if there is no terminal.
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
