import ArgumentParser
import Basics
import Foundation
import PusherMockServer
import TestSupport
import Testing

@testable import CommandKit

/// The README's table of exit statuses, for all commands.
@Suite(.overSockets)
struct ExitStatusTests {
    private static let app = [
        "PUSHER_KEY": PusherMockServer.App.defaultKey, "PUSHER_SECRET": PusherMockServer.App.defaultSecret,
        "PUSHER_APP_ID": PusherMockServer.App.defaultID, "PUSHER_TLS": "0",
    ]

    private func withServer(
        _ configuration: PusherMockServer.Configuration = .init(),
        _ body: (PusherMockServer, [String: String]) async throws -> Void
    ) async throws {
        let server = try await PusherMockServer.start(configuration)
        do {
            try await body(server, Self.app.merging(["PUSHER_HOST": "127.0.0.1:\(server.port)"]) { $1 })
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    /// Every command that prints, with arguments for which it prints something.
    private static let printing: [[String]] = [
        ["demo"], ["serve", "--port", "0"], ["auth-server", "--port", "0"],
        ["listen", "a", "--timeout", "20"], ["channels", "--json"], ["channel", "a"], ["users", "presence-b"],
        ["auth", "private-a", "1.2"], ["encrypt", "private-encrypted-a", "x", "--shared-secret", key],
        ["decrypt", "private-encrypted-a", cipher, "--shared-secret", key], ["doctor"],
        [
            "bench", "--embedded", "--connections", "1", "--channels", "1", "--rate", "10", "--duration", "0.3",
            "--warm-up", "0",
        ],
        ["trigger", "a", "e", "x", "--info", "subscription_count"],
        ["webhook", "verify", "-", "--signature", "3b3ca9b2a1ad2e5eb5e7a1a4e3ee6c4e"],
        ["context", "list"], ["matrix", "push-gateway", "--port", "0"], ["--help"], ["subscribe", "--help"],
        ["--version"], ["--generate-completion-script", "bash"],
    ]
    private static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let cipher = "{}"

    /// Whether a command of ``printing`` has nothing to print here, or fails earlier for another reason.
    private static func isSilent(_ arguments: [String]) -> Bool {
        ["decrypt", "webhook", "context", "matrix"].contains(arguments[0])
            || arguments.starts(with: ["users"]) || arguments.starts(with: ["channels"])
    }

    @Test(arguments: printing)
    func outputThatCannotBeWrittenIs74(arguments: [String]) async throws {
        var configuration = PusherMockServer.Configuration()
        configuration.apps = [PusherMockServer.App(sendsSubscriptionCounts: true)]
        try await withServer(configuration) { server, environment in
            guard !Self.isSilent(arguments) else { return }
            let command = try CommandRun(arguments, environment: environment, outputFile: "/dev/full")
            #expect(await command.status() == 74)
            #expect(command.errors.last == "error: standard output cannot be written: No space left on device")
        }
    }

    /// Every command with channels, with valid arguments.
    private static let ofChannels: [[String]] = [
        ["subscribe", "a"], ["listen", "a"], ["doctor", "a"], ["client-event", "private-a", "client-e", "x"],
        ["trigger", "a", "e", "x"], ["trigger", "--lines", "a", "e"], ["trigger", "--user", "u", "e", "x"],
        ["channel", "a"], ["users", "presence-a"], ["auth", "private-a", "1.2"],
    ]

    @Test(arguments: ofChannels)
    func anUnknownOptionIsNamed_notWhatItsValueIsTakenFor(command: [String]) async throws {
        for (option, value) in [("--hots", "127.0.0.1:1"), ("--nonsense", "a b"), ("--kye", "x")] {
            let run = try CommandRun(command + [option, value], environment: Self.app)
            #expect(await run.status() == 64)
            #expect(
                run.errors.first?.lowercased().hasPrefix("error: unknown option '\(option)'") == true, "\(run.errors)")
        }
    }

    @Test(
        arguments: ofChannels + [["encrypt", "private-encrypted-a", "x"], ["decrypt", "private-encrypted-a", "{}"]])
    func aBadChannelNameIsWrongUseInEveryCommand(command: [String]) async throws {
        guard let place = command.firstIndex(where: { $0.hasSuffix("a") }) else { return }  // --user has no channel
        for name in ["bad channel!", "", "#x", String(repeating: "x", count: 165)] {
            var command = command
            command[place] = name
            let run = try CommandRun(command, environment: Self.app)
            #expect(await run.status() == 64, "\(command)")
            #expect(run.errors.first?.contains("cannot be a channel name") == true, "\(run.errors)")
        }
    }

    @Test(arguments: [
        ["client-event", "prices", "client-e", "x"], ["client-event", "private-encrypted-a", "client-e", "x"],
        ["client-event", "private-a", "client-", "x"], ["users", "prices"], ["users", "private-a"],
        ["auth", "prices", "1.2"], ["encrypt", "private-a", "x"], ["decrypt", "presence-a", "x"],
        ["subscribe", "#server-to-user-1"], ["subscribe", "a", "#server-to-user-1"], ["listen", "#server-to-user-1"],
        ["doctor", "#server-to-user-1"], ["trigger", "a,,b", "e", "x"], ["trigger", ",", "e", "x"],
        ["trigger", "--lines", "a,", "e"],
    ])
    func aChannelOrEventOfTheWrongKindIsWrongUse(arguments: [String]) async throws {
        let run = try CommandRun(arguments, environment: Self.app)
        #expect(await run.status() == 64)
        #expect(run.errors.count == 2, "\(run.errors)")
    }

    private static let longName = String(repeating: "x", count: 201)

    /// Names of events, users and connections that no server could accept.
    @Test(arguments: [
        ["trigger", "a", "", "x"], ["trigger", "a", longName, "x"], ["trigger", "a", "pusher:e", "x"],
        ["trigger", "a", "e", "x", "--socket-id", "nonsense"], ["trigger", "--user", "", "e", "x"],
        ["trigger", "--user", "a b", "e", "x"], ["trigger", "--user", longName, "e", "x"],
        ["trigger", "--user", "u", "", "x"], ["trigger", "--lines", "a", ""], ["trigger", "--lines", "a", longName],
        ["trigger", "--lines", "a", "e", "--socket-id", "1"], ["trigger", "private-encrypted-a,b", "e", "x"],
        ["trigger", (0...100).map { "c\($0)" }.joined(separator: ","), "e", "x"],
        ["client-event", "private-a", "client-" + longName, "x"],
        ["client-event", "private-a", "client-" + longName, "--lines"], ["terminate", ""], ["terminate", "a/b"],
        ["auth", "private-a", "1"], ["auth", "presence-a", "1.2"], ["auth", "--user", "", "1.2"],
        ["auth", "--user", "u", "x"], ["auth", "private-encrypted-a", "1.2"], ["channels", "--app-id", "a/b"],
        ["channels", "--app-id", ".."], ["context", "add", "c", "--key", "k", "--app-id", "."],
    ])
    func aNameThatNoServerTakesIsWrongUse(arguments: [String]) async throws {
        let server = SocketServer { _ in Issue.record("something was connected") }
        let run = try CommandRun(
            arguments, environment: Self.app.merging(["PUSHER_HOST": "127.0.0.1:\(server.port)"]) { $1 })
        #expect(await run.status() == 64, "\(run.errors)")
    }

    @Test(arguments: [
        (["subscirbe", "c"], "'subscirbe' is not a command of pusher-cli. Did you mean 'subscribe'?"),
        (["matrix", "nonsense"], "'nonsense' is not a command of pusher-cli matrix"),
        (["help", "nonsense"], "'nonsense' is not a command of pusher-cli"),
        (["help", "matrix", "senf"], "'senf' is not a command of pusher-cli matrix. Did you mean 'send'?"),
        (["context", "add", "--keyy", "x"], "unknown option '--keyy'. Did you mean '--key'?"),
        (["client-event", "a", "--linez"], "unknown option '--linez'. Did you mean '--lines'?"),
        (["users", "--jsonn=x"], "unknown option '--jsonn'. Did you mean '--json'?"),
        (["users", "--json", "--", "--nonsense", "b"], "unexpected argument 'b'"),
        (["subscribe", "-x"], "unknown option '-x'"),
        (["context", "ad", "x"], "'ad' is not a command of pusher-cli context. Did you mean 'add'?"),
        (["subscribe", "c", "--timeout", "-1"], "--timeout takes seconds, above 0"),
        (["serve", "--port", "-1"], "--port must be 0 to 65535"),
        (["users", "--json"], "missing expected argument '<channel>'"),
        (["subscribe", "c", "--count", "-1"], "--count must be 1 or more"),
        (["subscribe", "c", "--count", "--json"], "missing value for '--count <count>'"),
        (["serve", "--profile", "x"], "the value 'x' is invalid for '--profile <profile>': it must be vendor"),
        (["pydio", "get", "x"], "the value 'x' is invalid for '<remote>': a path on the server is"),
        (
            ["matrix", "listen", "--since", "soon"],
            "the value 'soon' is invalid for '--since <time>': expected a time such as"
        ),
        (
            ["consume", "ev.>", "--since", "2999-01-01"],
            "the value '2999-01-01' is invalid for '--since <start>': this time is in the future"
        ),
    ])
    func theMistakeItselfIsNamed(arguments: [String], words: String) async throws {
        let run = try CommandRun(arguments)
        #expect(await run.status() == 64)
        #expect(run.errors.first?.hasPrefix("error: " + words) == true, "\(run.errors)")
        #expect(run.errors.last?.wholeMatch(of: /See 'pusher-cli( [a-z-]+)* --help' for more information./) != nil)
    }

    @Test(arguments: ["0", "-5", "20", "39", "x"])
    func helpHasRoomOnTheNarrowestTerminal(columns: String) async throws {
        let run = try CommandRun(["subscribe", "--help"], environment: ["COLUMNS": columns])
        #expect(await run.status() == 0)
        #expect(run.output.contains { $0.contains("--timeout") })
    }

    @Test(arguments: [
        "http://k:s@127.0.0.1:1/apps/", "http://:@127.0.0.1:1/apps/1", "http://k:@127.0.0.1:1/apps/1",
        "http://k:s%zz@127.0.0.1:1/apps/1", "http://k:a b@127.0.0.1:1/apps/1", "ftp://k:s@h/apps/1", "nonsense",
    ])
    func aURLOfTheEnvironmentThatCannotBeUsedIsWrongUse(url: String) async throws {
        for command in [["subscribe", "c"], ["trigger", "c", "e", "x"], ["channels"]] {
            let run = try CommandRun(command, environment: ["PUSHER_URL": url])
            #expect(await run.status() == 64)
            #expect(run.errors == ["error: PUSHER_URL is not like https://key:secret@host:port/apps/id"])
        }
    }

    /// An interrupted stream reports that.
    @Test(arguments: [
        ["subscribe", "c", "--count", "3"], ["subscribe", "c", "--timeout", "60"], ["listen", "c", "--count", "3"],
    ])
    func anInterruptedStreamSaysSo(arguments: [String]) async throws {
        try await withServer { server, environment in
            let run = try CommandRun(arguments, environment: environment)
            #expect(await server.waitFor { $0.channels() == ["c"] })
            run.interrupt()
            #expect(await run.status() == 130)
            #expect(run.errors.last == "error: interrupted before it was done")
        }
    }

    /// The server opens the connection, and sends something other than the expected message.
    @Test(arguments: [nil, #"{"event":5}"#, #"{"event":"e","channel":"c","data":"x"}"#])
    func aNoticeIsNotTheReason(message: String?) async throws {
        let server = SocketServer { peer in
            peer.acceptWebSocket()
            peer.writeFrame(#"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1.2\"}"}"#)
            while !peer.read().isEmpty { if let message { peer.writeFrame(message) } }
        }
        for more in [[], ["--lines"]] {
            let run = try CommandRun(
                ["client-event", "private-a", "client-x", "--timeout", "1"] + (more.isEmpty ? ["x"] : more),
                environment: Self.app.merging(["PUSHER_HOST": "127.0.0.1:\(server.port)"]) { $1 }, input: "1\n")
            #expect(await run.status() == 69)
            #expect(run.errors.last?.contains("the server did not answer the subscription") == true, "\(run.errors)")
        }
    }

    @Test func linesOfClientEventsSayWhyThereIsNoConnection() async throws {
        let run = try CommandRun(
            ["client-event", "private-a", "client-x", "--lines", "--timeout", "0.5"],
            environment: Self.app.merging(["PUSHER_HOST": "127.0.0.1:1"]) { $1 }, input: "1\n")
        #expect(await run.status() == 69)
        #expect(run.errors.last?.contains("no connection within 0.5 s: cannot connect to 127.0.0.1:1") == true)
    }

    @Test func aPageInPlaceOfTheAPINamesTheOptions() async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nConnection: close\r\n\r\n<html>no\n")
        }
        let run = try CommandRun(
            ["channels"], environment: Self.app.merging(["PUSHER_HOST": "127.0.0.1:\(server.port)"]) { $1 })
        #expect(await run.status() == 69)
        #expect(run.errors.last?.contains("check --host, --port and --path") == true)
    }

    @Test func aProxyThatIsNotThereIsNamed() async throws {
        let run = try CommandRun(
            ["channels", "--proxy", "http://127.0.0.1:1"],
            environment: Self.app.merging(["PUSHER_HOST": "127.0.0.1:2"]) { $1 })
        #expect(await run.status() == 69)
        #expect(
            run.errors.last?.contains("cannot connect to the proxy 127.0.0.1:1, for 127.0.0.1:2") == true,
            "\(run.errors)")
    }

    @Test func triggerSaysEveryFormThatItHas() async throws {
        let run = try CommandRun(["trigger", "a"], environment: Self.app)
        #expect(await run.status() == 64)
        for form in ["CHANNEL EVENT DATA", "--user USER", "--lines CHANNEL EVENT", "--batch FILE"] {
            #expect(run.errors.first?.contains(form) == true)
        }
        #expect(run.errors.last == "See 'pusher-cli trigger --help' for more information.")
    }

    @Test func whatIsFoundOutLaterPointsToTheHelpOfTheCommand() async throws {
        let run = try CommandRun(["subscribe", "a", "--sign-in"], environment: Self.app)
        #expect(await run.status() == 64)
        #expect(run.errors.last == "See 'pusher-cli subscribe --help' for more information.")
    }

    @Test func subscribeAndQueriesWithResultsAre74AsWell() async throws {
        try await withServer { server, environment in
            let stream = try CommandRun(
                ["subscribe", "presence-b", "--user-id", "u"], environment: environment, outputFile: "/dev/full")
            #expect(await server.waitFor { $0.channels() == ["presence-b"] })
            for arguments in [
                ["channels"], ["channels", "--json"], ["users", "presence-b"], ["users", "presence-b", "--json"],
            ] {
                let command = try CommandRun(arguments, environment: environment, outputFile: "/dev/full")
                #expect(await command.status() == 74)
            }
            await server.publish(event: "e", channel: "presence-b", data: "x")
            #expect(await stream.status() == 74)
            #expect(stream.errors.last?.contains("No space left on device") == true)
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSignalBeforeTheWorkIsDoneIs130(signal: Int32) async throws {
        // Accepts connections, and never sends anything.
        let accepted = Lock(0)
        let silent = SocketServer { peer in
            accepted.withLock { $0 += 1 }
            while !peer.read().isEmpty {}
        }
        let environment = Self.app.merging(["PUSHER_HOST": "127.0.0.1:\(silent.port)"]) { $1 }
        for arguments in [
            ["client-event", "private-a", "client-e", "x"], ["subscribe", "a", "--count", "3"],
            ["subscribe", "a", "--timeout", "60"], ["doctor"], ["trigger", "a", "e", "x"], ["channels"],
            ["users", "presence-a"], ["terminate", "ann"], ["listen", "a", "--count", "1"],
        ] {
            let before = accepted.withLock { $0 }
            let command = try CommandRun(arguments, environment: environment)
            #expect(await eventually { accepted.withLock { $0 } > before }, "\(arguments)")
            command.signal(signal)
            #expect(await command.status() == 130, "\(arguments)")
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aStreamWithoutAnEndIsDoneWhenItIsStopped(signal: Int32) async throws {
        try await withServer { server, environment in
            for (arguments, words) in [(["subscribe", "a"], "listening to a"), (["listen", "a"], "subscribed")] {
                let command = try CommandRun(arguments, environment: environment)
                #expect(await eventually { (command.errors + command.output).contains { $0.contains(words) } })
                command.signal(signal)
                #expect(await command.status() == 0, "\(arguments)")
                #expect(await server.waitFor { $0.channels() == [] })
            }
        }
    }

    // MARK: Refusals

    @Test func aWrongSecretEndsASubscriptionWith77() async throws {
        try await withServer { _, environment in
            let wrong = environment.merging(["PUSHER_SECRET": "wrong"]) { $1 }
            let command = try CommandRun(["subscribe", "private-a"], environment: wrong)
            #expect(await command.status() == 77)
            #expect(command.errors.contains { $0.contains("private-a") && $0.contains("Invalid signature") })
            #expect(command.errors.count == 1)
            let listen = try CommandRun(["listen", "private-a", "--json"], environment: wrong)
            #expect(await listen.status() == 77)
            #expect(listen.output.count { $0.contains(#""type":"error""#) } == 1, "\(listen.output)")
            let doctor = try CommandRun(["doctor", "private-a"], environment: wrong)
            #expect(await doctor.status() == 77)
            #expect(doctor.output.contains { $0.hasPrefix("FAIL  private-a") && $0.contains("Invalid signature") })
        }
    }

    @Test func othersGoOnAndTheWorstIsTheStatus() async throws {
        try await withServer { server, environment in
            let wrong = environment.merging(["PUSHER_SECRET": "wrong"]) { $1 }
            let command = try CommandRun(["subscribe", "private-a", "open", "--count", "1"], environment: wrong)
            #expect(await eventually { command.errors.contains { $0.contains("listening to open") } })
            await server.publish(event: "e", channel: "open", data: "x")
            #expect(await command.status() == 77)
            #expect(command.output.count == 1)
        }
    }

    @Test func aStreamThatWasNeverConnectedIs69() async throws {
        let command = try CommandRun(
            ["subscribe", "a", "--timeout", "0.5"], environment: Self.app.merging(["PUSHER_HOST": "127.0.0.1:1"]) { $1 }
        )
        #expect(await command.status() == 69)
        #expect(command.errors.last?.contains("no connection within 0.5 s: cannot connect to 127.0.0.1:1") == true)
    }

    @Test func clientEventSaysWhyThereIsNoConnection() async throws {
        let command = try CommandRun(
            ["client-event", "private-a", "client-e", "x", "--timeout", "0.5"],
            environment: Self.app.merging(["PUSHER_HOST": "127.0.0.1:1"]) { $1 })
        #expect(await command.status() == 69)
        #expect(command.errors.last?.contains("no connection within 0.5 s: cannot connect to 127.0.0.1:1") == true)
    }

    @Test(arguments: [
        ["subscribe", "bad channel!"], ["subscribe", ""], ["subscribe", String(repeating: "x", count: 165)],
        ["listen", "a", "bad channel!"], ["doctor", "bad channel!"], ["client-event", "a", "client-e", "x"],
        ["client-event", "private-a", "e", "x"], ["subscribe", "a", "--cluster", "bad cluster"],
        ["subscribe", "a", "--host", "ftp://x"], ["subscribe", "a", "--host", "http://h:1", "--port", "2"],
        ["subscribe", "a", "--host", "http://h", "--tls"], ["trigger", "a", "e", "x", "--pong-timeout", "1"],
        ["trigger", "a", "e", "x", "--auth-endpoint", "http://x"], ["subscribe", "a", "--context", "none"],
    ])
    func whatCannotBeRightIs64BeforeAnythingIsConnected(arguments: [String]) async throws {
        let command = try CommandRun(arguments, environment: ["PUSHER_KEY": "k"])
        #expect(await command.status() == 64)
        #expect(command.errors.first?.hasPrefix("error: ") == true)
        #expect(!command.errors.contains { $0.contains("URL is not a ws") })
    }

    @Test func aHostMayBeAURLOrHaveAPort() async throws {
        try await withServer { server, _ in
            for address in [
                "127.0.0.1:\(server.port)", "http://127.0.0.1:\(server.port)", "ws://127.0.0.1:\(server.port)/",
            ] {
                let command = try CommandRun(
                    ["doctor", "--host", address, "--no-tls", "--key", PusherMockServer.App.defaultKey])
                #expect(await command.status() == 0, "\(address)")
            }
        }
    }

    /// A user's mistake, with the expected status and message.
    struct Mistake: Sendable, CustomTestStringConvertible {
        let options: [String]
        var environment: [String: String] = [:]
        let status: Int32
        let words: String

        var testDescription: String { "\(options) \(environment)" }
    }

    /// The repository's own manifest is a file without a certificate.
    private static let noCertificate =
        URL(filePath: #filePath).deletingLastPathComponent().path + "/../../../Package.swift"

    private static let mistakes = [
        Mistake(
            options: ["--ca-file", "/nowhere"], status: 65,
            words: "--ca-file /nowhere cannot be read: No such file or directory"),
        Mistake(options: ["--ca-file", noCertificate], status: 65, words: "--ca-file \(noCertificate) contains no"),
        Mistake(options: ["--key", ""], status: 64, words: "--key is empty"),
        Mistake(options: ["--path", "a b"], status: 64, words: "--path"),
        Mistake(options: ["--path", "/a/../b"], status: 64, words: "--path"),
        Mistake(options: ["--proxy", "foo"], status: 64, words: "--proxy"),
        Mistake(options: ["--proxy", "ftp://x"], status: 64, words: "--proxy"),
        Mistake(options: ["--host", ""], status: 64, words: "--host"),
        Mistake(options: ["--cluster", ""], status: 64, words: "--cluster"),
        Mistake(options: ["--pin", String(repeating: "0", count: 64)], status: 64, words: "--pin needs TLS"),
        Mistake(options: ["--context", "none"], status: 64, words: "no context"),
        Mistake(
            options: [], environment: ["PUSHER_ENCRYPTION_MASTER_KEY": "zz"], status: 64,
            words: "PUSHER_ENCRYPTION_MASTER_KEY must be base64 of 32 bytes"),
        Mistake(options: [], environment: ["PUSHER_KEY": ""], status: 64, words: "key is missing"),
    ]

    /// Every command that connects to an application's server.
    private static let connecting: [[String]] = [
        ["subscribe", "a"], ["listen", "a"], ["doctor"], ["client-event", "private-a", "client-e", "x"], ["shell"],
        ["bench", "--duration", "0.5"], ["trigger", "a", "e", "x"], ["trigger", "--lines", "a", "e"], ["channels"],
        ["channel", "a"], ["users", "presence-a"], ["terminate", "u"],
        ["matrix", "push-gateway", "--port", "0", "--channel", "a"],
    ]

    @Test(arguments: mistakes, connecting)
    func theSameMistakeHasTheSameStatusInEveryCommand(mistake: Mistake, command: [String]) async throws {
        // For the gateway, --host is the listening address, and there is no --path.
        let isGateway = command.contains("push-gateway")
        if isGateway, mistake.options.first == "--path" { return }
        let options = mistake.options.map { isGateway && $0 == "--host" ? "--pusher-host" : $0 }
        let server = SocketServer { _ in Issue.record("something was connected") }
        let run = try CommandRun(
            command + options,
            environment: Self.app.merging(["PUSHER_HOST": "127.0.0.1:\(server.port)"]) { $1 }
                .merging(mistake.environment) { $1 })
        #expect(await run.status() == mistake.status, "\(run.errors)")
        let words = mistake.words == "--host" && isGateway ? "--pusher-host" : mistake.words
        #expect(run.errors.contains { $0.contains(words) }, "\(run.errors)")
    }

    /// The signing secret is missing, so connecting would be pointless.
    @Test(
        arguments: [
            (["subscribe", "private-a"], "PUSHER_SECRET"), (["subscribe", "a", "presence-a"], "PUSHER_SECRET"),
            (["listen", "private-a"], "PUSHER_SECRET"), (["doctor", "private-a"], "PUSHER_SECRET"),
            (["client-event", "private-a", "client-e", "x"], "PUSHER_SECRET"), (["bench"], "PUSHER_SECRET"),
            (["trigger", "a", "e", "x"], "PUSHER_SECRET"), (["channels"], "PUSHER_SECRET"),
            (["subscribe", "private-encrypted-a"], "PUSHER_ENCRYPTION_MASTER_KEY"),
            (["listen", "private-encrypted-a"], "PUSHER_ENCRYPTION_MASTER_KEY"),
            (["doctor", "private-encrypted-a"], "PUSHER_ENCRYPTION_MASTER_KEY"),
            (["bench", "--channel-prefix", "private-encrypted-"], "PUSHER_ENCRYPTION_MASTER_KEY"),
            (["trigger", "private-encrypted-a", "e", "x"], "PUSHER_ENCRYPTION_MASTER_KEY"),
            (["trigger", "--lines", "private-encrypted-a", "e"], "PUSHER_ENCRYPTION_MASTER_KEY"),
            (["trigger", "--batch", "-"], "PUSHER_ENCRYPTION_MASTER_KEY"),
        ] as [([String], String)])
    func aMissingSecretOrMasterKeyIsWrongUseBeforeAnythingIsConnected(
        command: [String], variable: String
    ) async throws {
        let server = SocketServer { _ in Issue.record("something was connected") }
        var environment = Self.app.merging(["PUSHER_HOST": "127.0.0.1:\(server.port)"]) { $1 }
        if variable == "PUSHER_SECRET" { environment[variable] = nil }
        let run = try CommandRun(
            command, environment: environment,
            input: #"[{"channel":"private-encrypted-a","name":"e","data":"x"}]"#)
        #expect(await run.status() == 64, "\(run.errors)")
        #expect(run.errors.first?.contains("missing: give \(variable)") == true, "\(run.errors)")
    }

    @Test(arguments: [["channels"], ["channel", "a"], ["users", "presence-a"], ["terminate", "u"]])
    func whatEncryptsNothingTakesNoMasterKey(command: [String]) async throws {
        let run = try CommandRun(command + ["--encryption-master-key", Self.key], environment: Self.app)
        #expect(await run.status() == 64)
        #expect(run.errors.first?.lowercased().contains("unknown option '--encryption-master-key'") == true)
    }

    @Test(arguments: [
        ["--webhook-url", "foo"], ["--webhook-url", "ftp://x/"], ["--encryption-master-key", "zz"], ["--key", ""],
        ["--key", "a/b"], ["--app-id", ".."],
    ])
    func whatNoServerCanServeIsWrongUse(options: [String]) async throws {
        let run = try CommandRun(["serve", "--port", "0"] + options)
        #expect(await run.status() == 64)
        #expect(run.errors.first?.hasPrefix("error: \(options[0]) must ") == true, "\(run.errors)")
    }

    @Test func theSameRefusalHasTheSameStatusEverywhere() async throws {
        try await withServer { _, environment in
            for arguments in [
                ["subscribe", "a"], ["listen", "a"], ["doctor"], ["trigger", "a", "e", "x"], ["channels"],
                ["client-event", "private-a", "client-e", "x"],
            ] {
                let wrongKey = try CommandRun(
                    arguments
                        + ["--key", "wrong", "--secret", "s", "--app-id", "1"].filter { option in
                            arguments[0] == "trigger" || arguments[0] == "channels"
                                || !["--app-id", "1"].contains(option)
                        }, environment: environment)
                #expect(await wrongKey.status() == 77, "\(arguments)")
            }
            let wrongID = try CommandRun(["channels", "--app-id", "nope"], environment: environment)
            #expect(await wrongID.status() == 77)
        }
    }

    @Test func aMissingKeyAndIDAreSaidAtOnceWithoutTheUsage() async throws {
        let command = try CommandRun(["trigger", "a", "e", "x"])
        #expect(await command.status() == 64)
        #expect(command.errors.count == 1)
        #expect(command.errors.first?.contains("key, id and secret are missing") == true)
    }

    @Test func tlsToAPlainPortNamesTheOption() async throws {
        try await withServer { server, environment in
            let command = try CommandRun(
                ["subscribe", "a", "--tls", "--timeout", "1"], environment: environment)
            #expect(await command.status() == 69)
            #expect(command.errors.contains { $0.contains("try --no-tls") })
            #expect(!command.errors.contains { $0.contains("try --no-tls: try --no-tls") })
        }
    }

    @Test(arguments: [["subscribe", "a", "--timeout", "1"], ["channels"]])
    func plainTextToATLSPortNamesTheOption(arguments: [String]) async throws {
        let server = SocketServer { peer in _ = peer.readHead() }
        let command = try CommandRun(
            arguments, environment: Self.app.merging(["PUSHER_HOST": "127.0.0.1:\(server.port)"]) { $1 })
        #expect(await command.status() == 69)
        #expect(command.errors.last?.contains("try --tls if this port expects TLS") == true)
    }

    // MARK: Standard input

    @Test func oneLineEndAtTheEndOfStandardInputIsLeftOut() async throws {
        try await withServer { server, environment in
            let stream = try CommandRun(["subscribe", "c", "--json", "--count", "3"], environment: environment)
            #expect(await server.waitFor { $0.channels() == ["c"] })
            for (arguments, input) in [([], "hello\n"), ([], "two\n\n"), (["--data-binary"], "exact\n")] {
                let trigger = try CommandRun(
                    ["trigger", "c", "e", "-"] + arguments, environment: environment, input: input)
                #expect(await trigger.status() == 0)
            }
            #expect(await stream.status() == 0)
            for data in [#""data":"hello""#, #""data":"two\n""#, #""data":"exact\n""#] {
                #expect(stream.output.contains { $0.contains(data) }, "\(data)")
            }
        }
    }
}
