import TestSupport
import Testing

/// Invalid or excessive numbers of seconds are wrong use.
@Suite(.overSockets)
struct SecondsTests {
    private static let options: [[String]] = [
        ["subscribe", "c", "--timeout"], ["listen", "c", "--connect-timeout"], ["listen", "c", "--activity-timeout"],
        ["subscribe", "c", "--pong-timeout"], ["subscribe", "c", "--max-reconnect-delay"], ["doctor", "--timeout"],
        ["client-event", "private-c", "client-e", "d", "--timeout"], ["bench", "--duration"], ["bench", "--warm-up"],
        ["bench", "--connect-timeout"], ["bench", "--drain"], ["bench", "--interval"],
        ["webhook", "verify", "-", "--signature", "s", "--maximum-age"], ["pydio", "watch", "--poll-interval"],
        ["listen", "--pydio=w", "--poll-interval"],
    ]

    @Test(arguments: options)
    func isRefused(option: [String]) async throws {
        for seconds in ["inf", "-inf", "nan", "1e300", "1e10", "-1", "x"] {
            var arguments = option
            arguments[arguments.count - 1] += "=" + seconds
            let run = try CommandRun(
                arguments + ["--key", "k"].filter { _ in option[0] != "webhook" && option[0] != "pydio" })
            #expect(await run.status() == 64)
            let words = seconds == "x" ? "is invalid for '\(option.last ?? "")" : "\(option.last ?? "") takes seconds, "
            #expect(run.errors.contains { $0.contains(words) }, "\(arguments) \(run.errors)")
        }
    }
}
