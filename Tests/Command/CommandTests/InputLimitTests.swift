import TestSupport
import Testing

/// Endless input, which is rejected once it exceeds what the command can use.
@Suite(.overSockets)
struct InputLimitTests {
    private static let commands: [[String]] = [
        ["trigger", "c", "e", "-"], ["trigger", "--user", "u", "e", "-"], ["trigger", "--batch", "/dev/zero"],
        ["trigger", "--batch", "-"], ["client-event", "private-c", "client-e", "-"],
        ["webhook", "verify", "/dev/zero", "--signature", "x"], ["webhook", "verify", "--signature", "x"],
        ["serve", "--port", "0", "--script", "/dev/zero"],
    ]

    @Test(arguments: commands)
    func endlessInputIsBadData(arguments: [String]) async throws {
        let environment = [
            "PUSHER_KEY": "k", "PUSHER_SECRET": "s", "PUSHER_APP_ID": "1", "PUSHER_HOST": "127.0.0.1:9",
            "PUSHER_TLS": "0",
        ]
        let run = try CommandRun(arguments, environment: environment, redirection: "</dev/zero")
        #expect(await run.status() == 65)
        #expect(run.errors.last?.contains("bytes that are allowed") == true, "\(run.errors)")
    }
}
