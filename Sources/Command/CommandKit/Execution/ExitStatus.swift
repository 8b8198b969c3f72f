import ArgumentParser

/// Exit statuses of every command; the numbers are those of sysexits.h, and 128 and the signal's number for Ctrl-C, as shells
/// have it.
package enum ExitStatus: Int32, Sendable, CaseIterable {
    case done = 0
    /// The command line or the environment cannot be used; nothing was done.
    case wrongUse = 64
    /// A file, data or an argument's content cannot be used, or the server does not take it.
    case badData = 65
    /// There was no connection, or it was lost for good.
    case unavailable = 69
    /// Standard output could not be written.
    case unwritable = 74
    case timedOut = 75
    /// Key, secret, login or channel: the other side does not let us in.
    case refused = 77
    /// INT, TERM or HUP came before the work was done. What has no end is done when somebody stops it.
    case interrupted = 130

    /// Ends the command with this status, without another word.
    package func exit() throws {
        if self != .done { throw ExitCode(rawValue) }
    }

    /// From what hardly matters to what matters most, for commands where several things can go wrong.
    private static let bySeverity: [ExitStatus] = [
        .done, .timedOut, .badData, .unavailable, .refused, .wrongUse, .unwritable, .interrupted,
    ]

    private var severity: Int { Self.bySeverity.firstIndex(of: self) ?? 0 }

    /// The worse of the two.
    package func worse(_ other: ExitStatus) -> ExitStatus { severity >= other.severity ? self : other }
}
