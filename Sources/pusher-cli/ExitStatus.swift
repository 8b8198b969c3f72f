import ArgumentParser

/// Exit statuses of every command; the numbers are those of sysexits.h.
enum ExitStatus: Int32, Sendable {
    case done = 0
    case badData = 65
    case unavailable = 69
    case timedOut = 75
    case refused = 77

    /// Ends the command with this status, without another word.
    func exit() throws {
        if self != .done { throw ExitCode(rawValue) }
    }
}
