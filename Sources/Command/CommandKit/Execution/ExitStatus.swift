import ArgumentParser

/// The exit statuses of every command. The numbers are those of sysexits.h, and 128 plus the signal number for Ctrl-C,
/// as in shells.
package enum ExitStatus: Int32, Sendable, CaseIterable {
    case done = 0
    /// The command line or the environment is invalid; nothing was done.
    case wrongUse = 64
    /// A file, data or the content of an argument is invalid, or the server rejects it.
    case badData = 65
    /// There was no connection, or it was lost for good.
    case unavailable = 69
    /// Standard output could not be written.
    case unwritable = 74
    case timedOut = 75
    /// The other side denies access: wrong key, secret, login or channel.
    case refused = 77
    /// INT, TERM or HUP arrived before the work was done. A command without an end of its own counts as done when
    /// stopped.
    case interrupted = 130

    /// Ends the command with this status and no further output.
    package func exit() throws {
        if self != .done { throw ExitCode(rawValue) }
    }

    /// The statuses from least to most severe, for commands in which several things can fail.
    private static let bySeverity: [ExitStatus] = [
        .done, .timedOut, .badData, .unavailable, .refused, .wrongUse, .unwritable, .interrupted,
    ]

    private var severity: Int { Self.bySeverity.firstIndex(of: self) ?? 0 }

    /// Returns the more severe of two statuses.
    package func worse(_ other: ExitStatus) -> ExitStatus { severity >= other.severity ? self : other }
}
