import ArgumentParser

/// Exit statuses of every command; the numbers are those of sysexits.h.
enum ExitStatus: Int32, Sendable {
    case done = 0
    case badData = 65
    case unavailable = 69
    case timedOut = 75
    case refused = 77
    /// Ctrl-C or a polite kill came before the work was done: 128 and the signal's number, as shells have it. Commands that
    /// run until then are done.
    case interrupted = 130

    /// Ends the command with this status, without another word.
    func exit() throws {
        if self != .done { throw ExitCode(rawValue) }
    }
}
