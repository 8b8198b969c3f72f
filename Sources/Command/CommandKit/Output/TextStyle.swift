import ArgumentParser

/// The style of lines for a terminal.
package struct TextStyle: Sendable {
    package let isColored: Bool

    package init(isColored: Bool) { self.isColored = isColored }

    package func dim(_ text: String) -> TerminalText { paint(text, 2) }
    package func channel(_ text: String) -> TerminalText { paint(text, 36) }
    package func event(_ text: String) -> TerminalText { paint(text, 1) }

    private func paint(_ text: String, _ code: Int) -> TerminalText {
        isColored ? TerminalText(text).painted(code) : TerminalText(text)
    }
}

/// The values of `--color`.
package enum ColorChoice: String, CaseIterable, ExpressibleByArgument {
    /// According to the environment, or else if there is a terminal.
    case auto
    case always, never

    /// - Parameter isTerminal: Whether the output is a terminal.
    package func style(isTerminal: Bool) -> TextStyle {
        switch self {
        case .always: return TextStyle(isColored: true)
        case .never: return TextStyle(isColored: false)
        case .auto:
            if Environment["NO_COLOR"] != nil { return TextStyle(isColored: false) }  // no-color.org
            let isForced = Environment["CLICOLOR_FORCE"].map { $0 != "0" } ?? false  // bixense.com/clicolors
            return TextStyle(isColored: isForced || isTerminal && Environment["TERM"] != "dumb")
        }
    }
}
