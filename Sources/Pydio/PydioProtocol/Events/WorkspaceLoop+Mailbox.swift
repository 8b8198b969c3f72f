import Basics
import Realtime

/// The polling and the expiry of the mailbox (section 9).
extension WorkspaceLoop {
    /// Returns whether the mailbox is in use and has expired.
    func isMailboxMissed(now: MonotonicInstant) -> Bool {
        guard services?.hasMailbox == true, isMailboxExpired(now: now) else { return false }
        return knowledge.isComparing || !needs.registration && !needs.drain
    }

    func isMailboxExpired(now: MonotonicInstant) -> Bool {
        !isSocketLive && (mailbox.lastConsumed.map { now - $0 >= configuration.mailboxLife } ?? false)
    }

    var pollInterval: Duration {
        let interval = configuration.pollInterval ?? services?.pollInterval ?? .seconds(15)
        return max(interval.bounded, configuration.minimumPollInterval)
    }

    mutating func pollTime(now: MonotonicInstant) -> MonotonicInstant {
        now + pollInterval * Double.random(in: 0.9...1.1, using: &jitter)
    }
}
