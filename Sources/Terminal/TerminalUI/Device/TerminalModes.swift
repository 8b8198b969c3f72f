/// The modes that are switched on while a program has the screen, and off afterwards in reverse order.
public struct TerminalModes: Hashable, Sendable {
    /// Whether the terminal reports the mouse, which disables its own selection.
    public var reportsMouse: Bool
    /// Whether to use Kitty's keyboard protocol. Only for terminals that have answered that they support it.
    public var reportsKeys: Bool

    /// Creates modes; by default, only those that every program needs.
    public init(reportsMouse: Bool = false, reportsKeys: Bool = false) {
        (self.reportsMouse, self.reportsKeys) = (reportsMouse, reportsKeys)
    }

    /// The alternate screen, no line wrapping, bracketed pastes and focus reports.
    var entering: String {
        "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?2004h\u{1B}[?1004h"
            + (reportsMouse ? "\u{1B}[?1000h\u{1B}[?1002h\u{1B}[?1006h" : "")
            + (reportsKeys ? "\u{1B}[>1u" : "") + "\u{1B}[?25l"
    }

    /// Switches off all modes, whichever were on, so that it also works after a crash.
    static let leaving =
        "\u{1B}[?2026l\u{1B}[0m\u{1B}[<u\u{1B}[?1006l\u{1B}[?1002l\u{1B}[?1000l\u{1B}[?1004l\u{1B}[?2004l\u{1B}[?7h"
        + "\u{1B}[?1049l\u{1B}[?25h"
}
