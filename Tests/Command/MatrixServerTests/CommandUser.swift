import Foundation
import MatrixProtocol
import Testing

/// Somebody who uses the command, with a folder of their own.
final class CommandUser: Sendable {
    let user: Homeserver.User
    private let home = FileManager.default.temporaryDirectory.appending(path: "home-\(UUID().uuidString)")

    /// A new user, or another login of one.
    init(_ name: String, on homeserver: Homeserver, as user: Homeserver.User? = nil) async throws {
        self.user = if let user { user } else { try await homeserver.newUser(name) }
        let login = try await command("login", homeserver.url, "--user", self.user.name, "--password-stdin")
            .run(reading: self.user.password)
        try #require(login.status == 0)
    }

    deinit { try? FileManager.default.removeItem(at: home) }

    func command(_ arguments: String...) -> Program { command(arguments) }

    private func command(_ arguments: [String]) -> Program {
        Program(CommandOnHomeserverTests.command, ["matrix"] + arguments, environment: environment)
    }

    /// Of its commands.
    var environment: [String: String] {
        ["XDG_CONFIG_HOME": home.path, "XDG_DATA_HOME": home.path, "XDG_STATE_HOME": home.path]
    }

    /// What a command prints that must work.
    func output(_ arguments: String...) async throws -> [String] {
        let run = try await command(arguments).run()
        #expect(run.status == 0, "\(arguments)")
        return run.output
    }

    /// Of its recovery.
    func status() async throws -> [String: Any] {
        let run = try await command("recovery", "status", "--json").run()
        #expect(run.status == 0)
        return run.objects.first ?? [:]
    }
}
