import Basics
import Foundation
import PusherMockServer
import TestSupport
import Testing

/// Contexts, and environment variables instead of them.
@Suite(.overSockets)
struct ContextTests {
    private let home = FileManager.default.temporaryDirectory.appending(path: "contexts-\(UUID())")

    private var file: URL { home.appending(path: "pusher-cli/contexts.json") }

    private func run(
        _ arguments: String..., input: String = "", environment: [String: String] = [:]
    ) async throws -> (status: Int32?, run: CommandRun) {
        let run = try CommandRun(
            arguments, environment: ["XDG_CONFIG_HOME": home.path].merging(environment) { $1 }, input: input)
        return (await run.status(), run)
    }

    private func withServer(_ body: (PusherMockServer) async throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let server = try await PusherMockServer.start()
        do { try await body(server) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test func withoutXDGItIsInTheHomeThatTheEnvironmentNames() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let environment = ["XDG_CONFIG_HOME": "relative", "HOME": home.path]
        let add = try await run("context", "add", "mine", "--host", "h", "--key", "k", environment: environment)
        #expect(add.status == 0)
        #expect(FileManager.default.fileExists(atPath: home.path + "/.config/pusher-cli/contexts.json"))
    }

    /// As documented in the help of the options.
    @Test func theEnvironmentStandsInForOptionsThatAreOmitted() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let environment = [
            "PUSHER_HOST": "h:6001", "PUSHER_TLS": "0", "PUSHER_APP_ID": "3", "PUSHER_SECRET": "s", "PUSHER_KEY": "k",
        ]
        #expect(try await run("context", "add", "mine", "--key", "k", environment: environment).status == 0)
        #expect(
            try await run("context", "add", "other", "--key", "k2", "--cluster", "eu", environment: environment).status
                == 0)
        let mine = try #require(try await run("context", "show", "mine", "--json").run.objects.first)
        #expect(mine["host"] as? String == "h" && mine["port"] as? Int == 6001 && mine["tls"] as? Bool == false)
        #expect(mine["app_id"] as? String == "3" && mine["has_secret"] as? Bool == true)
        // The environment describes a different application and server.
        let other = try #require(try await run("context", "show", "other", "--json").run.objects.first)
        #expect(other["cluster"] as? String == "eu" && other["host"] == nil && other["tls"] == nil)
        #expect(other["app_id"] == nil && other["has_secret"] as? Bool == false)
    }

    @Test func aContextKeepsTheWayToItsServer_andHidesThePasswordOfAProxy() async throws {
        try await withServer { server in
            let proxy = "http://user:hidden@127.0.0.1:\(try FreePort.next())"
            let add = try await run(
                "context", "add", "mine", "--host", "127.0.0.1:\(server.port)", "--no-tls", "--key", "app-key",
                "--secret", "app-secret", "--app-id", "1", "--proxy", proxy)
            #expect(add.status == 0)
            let shown = try await run("context", "show", "mine", "--json").run
            #expect(shown.objects.first?["proxy"] as? String == proxy.replacing("user:hidden@", with: ""))
            // Nothing is listening there.
            #expect(try await run("channels", "--context", "mine").status == 69)
            #expect(try await run("channels", "--context", "mine", "--proxy", "").status == 0)
        }
    }

    @Test func aPlaceWithoutAFolderIsBadData() async throws {
        let environment = ["XDG_CONFIG_HOME": "/dev/null"]
        let list = try await run("context", "list", environment: environment)
        #expect(list.status == 65)
        #expect(list.run.errors.last?.contains("contexts.json cannot be read: Not a directory") == true)
        let add = try await run("context", "add", "mine", "--host", "h", "--key", "k", environment: environment)
        #expect(add.run.errors.last?.contains("there is no folder /dev/null/pusher-cli") == true)
    }

    private func add(_ name: String, _ server: PusherMockServer, secret: String = PusherMockServer.App.defaultSecret)
        async throws -> Int32?
    {
        try await run(
            "context", "add", name, "--host", "127.0.0.1:\(server.port)", "--no-tls", "--key",
            PusherMockServer.App.defaultKey, "--app-id", PusherMockServer.App.defaultID, "--secret", "-",
            input: secret + "\n"
        ).status
    }

    @Test func afterAContextIsAddedNoOptionIsNeeded() async throws {
        try await withServer { server in
            #expect(try await add("local", server) == 0)
            let stream = try CommandRun(
                ["subscribe", "private-a", "--count", "1"], environment: ["XDG_CONFIG_HOME": home.path])
            #expect(await server.waitFor { $0.channels() == ["private-a"] })
            #expect(try await run("trigger", "private-a", "e", "x").status == 0)
            #expect(await stream.status() == 0)
            #expect(stream.output.count == 1)
        }
    }

    @Test func secretsAreNeverShown_andTheFileIsItsOwnersAlone() async throws {
        try await withServer { server in
            #expect(try await add("local", server, secret: "very-secret") == 0)
            for arguments in [["context", "list"], ["context", "show"], ["context", "show", "local", "--json"]] {
                let shown = try CommandRun(arguments, environment: ["XDG_CONFIG_HOME": home.path])
                #expect(await shown.status() == 0)
                #expect(!shown.output.isEmpty)
                #expect(!(shown.output + shown.errors).contains { $0.contains("very-secret") })
            }
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            chmod(file.path, 0o644)
            let open = try await run("context", "list")
            #expect(open.status == 65)
            #expect(open.run.errors.first?.contains("others can read") == true)
            #expect(open.run.errors.first?.contains("run chmod 600 on it") == true)
            #expect(open.run.errors.first?.contains("change the application's secret") == true)
            try FileManager.default.removeItem(at: file)
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
            #expect(try await run("context", "list").status == 65)
        }
    }

    @Test func theOneInUseIsOverriddenByNameAndByVariable() async throws {
        try await withServer { server in
            #expect(try await add("good", server) == 0)
            #expect(try await add("bad", server, secret: "wrong") == 0)
            #expect(try await run("channels").status == 0)
            #expect(try await run("channels", "--context", "bad").status == 77)
            #expect(try await run("channels", environment: ["PUSHER_CONTEXT": "bad"]).status == 77)
            #expect(try await run("context", "use", "bad").status == 0)
            #expect(try await run("channels").status == 77)
            #expect(try await run("channels", "--context", "good").status == 0)
            let right = ["PUSHER_SECRET": PusherMockServer.App.defaultSecret]
            #expect(try await run("channels", environment: right).status == 0)
            #expect(try await run("context", "remove", "bad").status == 0)
            #expect(try await run("channels").status == 64)
            let list = try await run("context", "list", "--json")
            #expect(list.run.output.count == 1)
            #expect(list.run.output.first?.contains(#""name":"good","current":false"#) == true)
        }
    }

    @Test func aRunningServeComesBeforeAContextThatNobodyChose() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let serve = try CommandRun(["serve", "--port", "0"], environment: ["XDG_CONFIG_HOME": home.path])
        #expect(await serve.waitFor { $0.contains { $0.hasPrefix("listening on ") } })
        let add = try await run("context", "add", "prod", "--host", "127.0.0.1:9", "--no-tls", "--key", "k")
        #expect(add.status == 0)
        #expect(
            add.run.errors.last?.hasSuffix("pusher-cli context use prod switches to this one") == true,
            "\(add.run.errors)")
        let trigger = try await run("trigger", "c", "e", "x", "--verbose")
        #expect(trigger.status == 0)
        #expect(trigger.run.errors.first?.hasSuffix(" (the running serve)") == true, "\(trigger.run.errors)")
        #expect(try await run("context", "use", "prod").status == 0)
        let secret = ["PUSHER_SECRET": "s", "PUSHER_APP_ID": "1"]
        let chosen = try await run("trigger", "c", "e", "x", "--verbose", environment: secret)
        #expect(chosen.status == 69)
        #expect(chosen.run.errors.first == "publishing to 127.0.0.1:9 (context “prod”)")
        serve.interrupt()
        #expect(await serve.status() == 0)
    }

    @Test func addingSaysWhichContextIsInUse() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let first = try await run("context", "add", "a", "--host", "h", "--key", "k")
        #expect(first.run.errors == ["the context in use is “a”: h"])
        let second = try await run("context", "add", "b", "--host", "h", "--key", "k")
        #expect(
            second.run.errors == [
                "the context in use is still “a”; pusher-cli context use b switches to this one"
            ])
    }

    @Test func whatIsThereIsNotReplacedUnasked_andUnknownNamesAreSaid() async throws {
        try await withServer { server in
            #expect(try await add("local", server) == 0)
            #expect(try await add("local", server) == 65)
            for arguments in [["use", "x"], ["show", "x"], ["remove", "x"]] {
                let unknown = try CommandRun(["context"] + arguments, environment: ["XDG_CONFIG_HOME": home.path])
                #expect(await unknown.status() == 64)
                #expect(unknown.errors.first == "error: there is no context “x”, only local")
            }
            #expect(try await run("context", "add", "a/b", "--key", "k").status == 64)
            try Data("{nonsense".utf8).write(to: file)
            #expect(try await run("context", "list").status == 65)
            #expect(try await run("subscribe", "a").status == 65)
        }
    }

    @Test func aURLHoldsEverything_andIsNeverShown() async throws {
        try await withServer { server in
            let (id, key) = (PusherMockServer.App.defaultID, PusherMockServer.App.defaultKey)
            let url = "http://\(key):\(PusherMockServer.App.defaultSecret)@127.0.0.1:\(server.port)/apps/\(id)"
            #expect(try await run("channels", environment: ["PUSHER_URL": url]).status == 0)
            #expect(try await run("doctor", "private-a", environment: ["PUSHER_URL": url]).status == 0)
            let wrong = try await run("channels", environment: ["PUSHER_URL": "ftp://k:hidden@h/apps/1"])
            #expect(wrong.status == 64)
            #expect(wrong.run.errors.count == 1)
            #expect(wrong.run.errors.first?.contains("hidden") == false)
        }
    }

    @Test(arguments: [SIGTERM, SIGKILL])
    func aServerOfThisMachineNeedsNoOption(end: Int32) async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let environment = ["XDG_CONFIG_HOME": home.path]
        let serve = try CommandRun(["serve", "--port", "0", "--secret", "own"], environment: environment)
        #expect(await serve.waitFor { !$0.isEmpty })
        let stream = try CommandRun(["subscribe", "private-a", "--count", "1"], environment: environment)
        #expect(await eventually { stream.errors.contains { $0.hasPrefix("listening to private-a on ") } })
        #expect(try await run("trigger", "private-a", "e", "x").status == 0)
        #expect(await stream.status() == 0)
        // Explicit values take precedence over the context.
        #expect(try await run("channels", environment: ["PUSHER_SECRET": "wrong"]).status == 77)
        serve.signal(end)
        _ = await serve.status()
        #expect(try await run("channels").status == 64)
    }

    @Test func theServerThatStartedLastIsFound_thenTheOneThatIsLeft() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let environment = ["XDG_CONFIG_HOME": home.path]
        func serve(_ key: String) async throws -> CommandRun {
            let serve = try CommandRun(["serve", "--port", "0", "--key", key], environment: environment)
            #expect(await serve.waitFor { !$0.isEmpty })
            return serve
        }
        func served() async throws -> String? {
            let doctor = try CommandRun(["doctor"], environment: environment)
            _ = await doctor.status()
            return doctor.output.first
        }
        let first = try await serve("first")
        let second = try await serve("second")
        #expect(try await served()?.hasSuffix("/app/second") == true)
        second.interrupt()
        #expect(await second.status() == 0)
        #expect(try await served()?.hasSuffix("/app/first") == true)
        let third = try await serve("third")
        first.signal(SIGKILL)
        _ = await first.status()
        #expect(try await served()?.hasSuffix("/app/third") == true)
        third.interrupt()
        #expect(await third.status() == 0)
        let folder = home.appending(path: "pusher-cli/served").path
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }

    @Test func aLinkToTheFileStaysALink() async throws {
        try await withServer { server in
            #expect(try await add("local", server) == 0)
            #expect(try await add("other", server) == 0)
            let kept = home.appending(path: "kept.json")
            try FileManager.default.moveItem(at: file, to: kept)
            try FileManager.default.createSymbolicLink(at: file, withDestinationURL: kept)
            #expect(try await run("context", "use", "other").status == 0)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == kept.path)
            #expect(try await run("context", "list").run.output.contains { $0.hasPrefix("* other") })
            chmod(home.path, 0o777)
            #expect(try await run("context", "use", "local").status == 65)
        }
    }

    @Test func aLinkToAFileThatIsMissingStaysALink() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let folder = file.deletingLastPathComponent()
        for place in [home, folder] {
            try FileManager.default.createDirectory(
                at: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "../kept.json")
        #expect(try await run("context", "add", "mine", "--host", "h", "--key", "k").status == 0)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == "../kept.json")
        #expect(FileManager.default.fileExists(atPath: home.appending(path: "kept.json").path))
        #expect(try await run("context", "list").run.output.contains { $0.hasPrefix("* mine") })
    }

    /// Like a full disk, where no byte can be written.
    @Test func withoutRoomTheContextsStay() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        #expect(try await run("context", "add", "mine", "--host", "h", "--key", "k").status == 0)
        let before = try Data(contentsOf: file)
        let words = [CommandRun.executable.path, "context", "add", "other", "--host", "h", "--key", "k"]
        let outcome = try await ChildProcess.run(
            "sh", ["-c", #"trap '' XFSZ; ulimit -f 0; exec "$@""#, "sh"] + words,
            environment: ["XDG_CONFIG_HOME": home.path])
        #expect(outcome.status == 69)
        #expect(outcome.errors == "error: \(file.path) cannot be written: File too large\n")
        #expect(try Data(contentsOf: file) == before)
        let names = try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
        #expect(names == ["contexts.json"])
    }

    @Test func aProcessThatKeepsTheFolderIsNamed() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        #expect(try await run("context", "add", "mine", "--host", "h", "--key", "k").status == 0)
        let lock = try FileLock(folder: file.deletingLastPathComponent().path)
        let other = try await run("context", "add", "other", "--host", "h", "--key", "k")
        #expect(other.status == 69)
        #expect(
            other.run.errors == [
                "error: \(file.path) is in use by process \(getpid()) for longer than 10 s: nothing was changed"
            ])
        lock.release()
        #expect(try await run("context", "add", "other", "--host", "h", "--key", "k").status == 0)
    }

    @Test func aFileThatCannotBeReadIsNoConcernOfWhoNeedsNone() async throws {
        try await withServer { server in
            #expect(try await add("local", server) == 0)
            try Data("{nonsense".utf8).write(to: file)
            let (id, key) = (PusherMockServer.App.defaultID, PusherMockServer.App.defaultKey)
            let secret = PusherMockServer.App.defaultSecret
            let options = ["--host", "127.0.0.1:\(server.port)", "--no-tls", "--key", key, "--app-id", id]
            let url = "http://\(key):\(secret)@127.0.0.1:\(server.port)/apps/\(id)"
            for (arguments, variables) in [
                (["channels"] + options, ["PUSHER_SECRET": secret]), (["channels"], ["PUSHER_URL": url]),
                (["auth", "private-a", "1.2", "--key", key], ["PUSHER_SECRET": secret]),
            ] {
                let command = try CommandRun(
                    arguments, environment: ["XDG_CONFIG_HOME": home.path].merging(variables) { $1 })
                #expect(await command.status() == 0)
                #expect(command.errors.first?.hasPrefix("warning: ") == true)
            }
            #expect(try await run("channels", "--key", key).status == 65)
            #expect(try await run("channels", "--context", "local", environment: ["PUSHER_URL": url]).status == 65)
        }
    }

    @Test func theContextLocalStaysForTheNextServer() async throws {
        defer { try? FileManager.default.removeItem(at: home) }
        let environment = ["XDG_CONFIG_HOME": home.path]
        let serve = try CommandRun(["serve", "--port", "\(FreePort.next())", "--context"], environment: environment)
        #expect(await serve.waitFor { !$0.isEmpty })
        #expect(try await run("channels").status == 0)
        serve.interrupt()
        #expect(await serve.status() == 0)
        #expect(try await run("channels").status == 69)
        #expect(try await run("context", "list").run.output.first?.hasPrefix("* local") == true)
        // A context with that name that the command did not create is left alone.
        #expect(
            try await run("context", "add", "local", "--host", "example.org", "--key", "k", "--force").status == 0)
        let other = try CommandRun(["serve", "--port", "0", "--context"], environment: environment)
        #expect(
            await eventually { other.errors.contains { $0.contains("context “local”") && $0.contains("example.org") } })
        #expect(try await run("context", "show", "local").run.output.contains { $0.contains("example.org") })
    }

    @Test(arguments: [
        ["PUSHER_PORT": "x"], ["PUSHER_TLS": "maybe"], ["PUSHER_CLUSTER": "bad cluster"], ["PUSHER_HOST": "ftp://h"],
        ["PUSHER_URL": "nonsense"], ["PUSHER_CONTEXT": "none"],
    ])
    func aVariableThatCannotBeUsedIsNamed(environment: [String: String]) async throws {
        let command = try CommandRun(
            ["subscribe", "a"], environment: environment.merging(["PUSHER_KEY": "k"]) { $1 })
        #expect(await command.status() == 64)
        let name = try #require(environment.keys.first)
        let word = name == "PUSHER_CONTEXT" ? "there are no contexts yet" : name
        #expect(command.errors.first?.contains(word) == true)
    }

    @Test(arguments: [
        (["--host", "127.0.0.1:99999"], "--host 127.0.0.1:99999: the port must be from 1 to 65535"),
        (["--host", "127.0.0.1:abc"], "--host 127.0.0.1:abc: “abc” is not a port"),
    ])
    func aPortThatIsNoneIsNamed(options: [String], words: String) async throws {
        let command = try CommandRun(["channels"] + options)
        #expect(await command.status() == 64)
        #expect(command.errors.first?.contains(words) == true, "\(command.errors)")
    }

    @Test func aPublishedEventIsNoFailureWhereInfosAreNotTold() async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        }
        let environment = [
            "PUSHER_KEY": "k", "PUSHER_SECRET": "s", "PUSHER_APP_ID": "1", "PUSHER_TLS": "0",
            "PUSHER_HOST": "127.0.0.1:\(server.port)",
        ]
        let trigger = try await run(
            "trigger", "a", "e", "x", "--info", "subscription_count", environment: environment)
        #expect(trigger.status == 0)
        #expect(trigger.run.errors == ["warning: published, but the server did not report what --info asks for"])
    }

    @Test func usersThatAreNullAreNobody() async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 14\r\nConnection: close\r\n\r\n{\"users\":null}")
        }
        let environment = [
            "PUSHER_KEY": "k", "PUSHER_SECRET": "s", "PUSHER_APP_ID": "1", "PUSHER_TLS": "0",
            "PUSHER_HOST": "127.0.0.1:\(server.port)",
        ]
        let users = try await run("users", "presence-b", environment: environment)
        #expect(users.status == 0)
        #expect(users.run.output == [])
    }
}
