import Foundation
import MatrixProtocol
import Testing

/// A user of the command, with a separate folder.
final class CommandUser: Sendable {
    let user: Homeserver.User
    private let home = FileManager.default.temporaryDirectory.appending(path: "home-\(UUID().uuidString)")

    /// Creates a user, or another login of an existing one.
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

    /// The environment of its commands.
    var environment: [String: String] {
        ["XDG_CONFIG_HOME": home.path, "XDG_DATA_HOME": home.path, "XDG_STATE_HOME": home.path]
    }

    /// Returns the output of a command, which must succeed.
    func output(_ arguments: String...) async throws -> [String] {
        let run = try await command(arguments).run()
        #expect(run.status == 0, "\(arguments)")
        return run.output
    }

    /// Returns the status of its recovery.
    func status() async throws -> [String: Any] {
        let run = try await command("recovery", "status", "--json").run()
        #expect(run.status == 0)
        return run.objects.first ?? [:]
    }
}
