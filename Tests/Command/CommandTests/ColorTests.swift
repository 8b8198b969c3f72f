import Foundation
import TestSupport
import Testing

/// `--color`, and colour settings in the environment.
@Suite(.overSockets)
struct ColorTests {
    private static let environments: [[String: String]] = [
        [:], ["NO_COLOR": "1"], ["NO_COLOR": ""], ["CLICOLOR_FORCE": "1"], ["CLICOLOR_FORCE": "0"],
        ["NO_COLOR": "1", "CLICOLOR_FORCE": "1"], ["TERM": "dumb"], ["TERM": "dumb", "CLICOLOR_FORCE": "1"],
    ]

    /// Creates a configuration folder with one context, which `context list` prints in colour.
    private func withContext(_ body: (String) async throws -> Void) async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "color-\(UUID())")
        defer { try? FileManager.default.removeItem(at: home) }
        let add = try CommandRun(
            ["context", "add", "local", "--host", "example.org", "--key", "k"],
            environment: ["XDG_CONFIG_HOME": home.path])
        try #require(await add.status() == 0)
        try await body(home.path)
    }

    @Test(arguments: ["auto", "always", "never"], [true, false])
    func theOptionWinsOverTheEnvironment_andThatOverTheTerminal(choice: String, isAtTerminal: Bool) async throws {
        try await withContext { home in
            for environment in Self.environments {
                let list = try CommandRun(
                    ["context", "list", "--color", choice],
                    environment: environment.merging(["XDG_CONFIG_HOME": home]) { $1 }, isAtTerminal: isAtTerminal)
                #expect(await list.status() == 0)
                let isForced = environment["CLICOLOR_FORCE"] == "1"
                let isColored =
                    choice == "always"
                    || choice == "auto" && environment["NO_COLOR"] != "1"
                        && (isForced || isAtTerminal && environment["TERM"] == nil)
                let line = try #require(list.output.first)
                #expect(line.contains("\u{1B}[1mlocal\u{1B}[0m") == isColored, "\(environment): \(line)")
                #expect(line.contains("\u{1B}") == isColored)
            }
        }
    }

    @Test func withoutTheOptionItIsAuto() async throws {
        try await withContext { home in
            let list = try CommandRun(["context", "list"], environment: ["XDG_CONFIG_HOME": home], isAtTerminal: true)
            #expect(await list.status() == 0)
            #expect(list.output.first?.contains("\u{1B}[1mlocal\u{1B}[0m") == true)
        }
    }

    @Test func jsonHasNoColour() async throws {
        try await withContext { home in
            let list = try CommandRun(
                ["context", "list", "--json", "--color", "always"], environment: ["XDG_CONFIG_HOME": home])
            #expect(await list.status() == 0)
            #expect(!list.outputText.isEmpty && !list.outputText.contains("\u{1B}"))
        }
    }

    @Test(arguments: [
        ["subscribe", "a"], ["serve"], ["shell"], ["demo"], ["doctor"], ["channels"], ["pydio", "ls", "p:"],
    ])
    func anotherWordIsWrongUse(arguments: [String]) async throws {
        let command = try CommandRun(arguments + ["--color", "sometimes"])
        #expect(await command.status() == 64)
        #expect(command.errors.first?.contains("'auto', 'always' or 'never'") == true, "\(command.errors)")
    }
}
