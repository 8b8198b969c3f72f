import Foundation

/// A question that is answered with yes or no before something is done that cannot be undone.
enum TerminalQuestion {
    /// Whether somebody is there to answer.
    static var canBeAsked: Bool { isatty(STDIN_FILENO) == 1 }

    /// Asks until there is an answer; an empty line is no.
    ///
    /// - Parameter question: Without the choices.
    static func isConfirmed(_ question: TerminalText) throws(CommandFailure) -> Bool {
        while true {
            let line = try SecretInput.typedLine(
                "\(question) [y/N] ", isShown: true, withoutTerminal: "there is no terminal to ask on: use --force")
            guard let line else { throw CommandFailure(.interrupted, "interrupted: nothing is deleted") }
            switch line.lowercased().trimmingCharacters(in: .whitespaces) {
            case "y", "yes": return true
            case "", "n", "no": return false
            case _: continue
            }
        }
    }
}
