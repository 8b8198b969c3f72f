import Basics
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport

extension ClientScript {
    /// Loses its connection, gets the next one and forgets what was said meanwhile.
    mutating func reconnect(socketID: String = "2.2") {
        close(4200)
        pass(.zero)
        _ = take()
        establish(socketID: socketID)
    }

    /// Lets an hour pass, or whatever the machine has something to do in, and says what it did.
    mutating func idle() -> [String] {
        var lines = take()
        let end = now + .seconds(3600)
        while let deadline = machine.nextDeadline, deadline < end {
            pass(max(deadline - now, .zero))
            lines += take()
        }
        return lines
    }

    /// The attempts of an hour in which every one of them fails.
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

    /// As ``take()``, without the `pusher:error` that bindings get as it came: ``ServerErrorTests`` look at that.
    mutating func takeReports() -> [String] { take().filter { !$0.hasPrefix("event pusher:error") } }

    /// Errors among the notices so far.
    mutating func takeErrors() -> [PusherError] {
        machine.takeNotices().compactMap { if case .error(let error) = $0 { error } else { nil } }
    }
}
