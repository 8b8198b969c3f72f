import Basics
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport

extension ClientScript {
    /// Loses the connection, gets the next one and discards the output meanwhile.
    mutating func reconnect(socketID: String = "2.2") {
        close(4200)
        pass(.zero)
        _ = take()
        establish(socketID: socketID)
    }

    /// Advances by an hour, or as long as the machine has something to do, and returns its output.
    mutating func idle() -> [String] {
        var lines = take()
        let end = now + .seconds(3600)
        while let deadline = machine.nextDeadline, deadline < end {
            pass(max(deadline - now, .zero))
            lines += take()
        }
        return lines
    }

    /// Returns the number of attempts in an hour in which every attempt fails.
    mutating func attemptsInAnHour(failing fail: (inout ClientScript) -> Void) -> Int {
        var count = 0
        let end = now + .seconds(3600)
        machine.connect(now: now)
        while count < 1000 {
            if take().contains(where: { $0.hasPrefix("open") }) {
                count += 1
                fail(&self)
            }
            guard let deadline = machine.nextDeadline, deadline < end else { break }
            pass(max(deadline - now, .zero))
        }
        return count
    }

    /// Like ``take()``, but without the `pusher:error` events that bindings receive; ``ServerErrorTests`` covers those.
    mutating func takeReports() -> [String] { take().filter { !$0.hasPrefix("event pusher:error") } }

    /// Takes the pending notices, and returns the errors among them.
    mutating func takeErrors() -> [PusherError] {
        machine.takeNotices().compactMap { if case .error(let error) = $0 { error } else { nil } }
    }
}
