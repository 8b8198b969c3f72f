/// What is switched on while a program has the screen, and off afterwards, in reverse.
public struct TerminalModes: Hashable, Sendable {
    /// Mouse reports. They take the terminal's own selection away.
    public var reportsMouse: Bool
    /// Kitty's keyboard protocol, for terminals that have answered that they know it.
    public var reportsKeys: Bool

    /// Nothing but what every program needs, unless told otherwise.
    public init(reportsMouse: Bool = false, reportsKeys: Bool = false) {
        (self.reportsMouse, self.reportsKeys) = (reportsMouse, reportsKeys)
    }

    /// The other screen, lines that do not wrap, pastes in brackets, reports of focus.
    var entering: String {
        "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?2004h\u{1B}[?1004h"
            + (reportsMouse ? "\u{1B}[?1000h\u{1B}[?1002h\u{1B}[?1006h" : "")
            + (reportsKeys ? "\u{1B}[>1u" : "") + "\u{1B}[?25l"
    }

    /// Everything, whatever was switched on: it must be right also for a program that has crashed in the middle.
    static let leaving =
        "\u{1B}[?2026l\u{1B}[0m\u{1B}[<u\u{1B}[?1006l\u{1B}[?1002l\u{1B}[?1000l\u{1B}[?1004l\u{1B}[?2004l\u{1B}[?7h"
        + "\u{1B}[?1049l\u{1B}[?25h"
}
