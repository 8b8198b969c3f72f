import Basics
import Foundation
import FoundationNetworking
import PusherHTTP
import PusherMockServer
import TestSupport
import Testing

/// The command from a user's point of view: a process with standard streams and an exit status.
@Suite(.overSockets)
struct CommandTests {
    private func arguments(_ server: PusherMockServer, _ command: String...) -> [String] {
        command + [
            "--no-tls", "--host", "127.0.0.1", "--port", "\(server.port)", "--key", PusherMockServer.App.defaultKey,
        ]
    }

    private func withServer(
        _ configuration: PusherMockServer.Configuration = .init(), _ body: (PusherMockServer) async throws -> Void
    ) async throws {
        let server = try await PusherMockServer.start(configuration)
        do { try await body(server) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test func theDemoShowsEveryKindOfChannelAndEnds() async throws {
        let command = try CommandRun(["demo", "--json"])
        #expect(await command.status() == 0)
        let events = command.output.filter { $0.contains(#""type":"event""#) }
        for channel in ["prices", "private-orders", "presence-room"] {
            #expect(events.contains { $0.contains(#""channel":"\#(channel)""#) })
        }
    }

    @Test func subscribePrintsEventsUntilTheCountIsReached() async throws {
        try await withServer { server in
            let command = try CommandRun(
                arguments(server, "subscribe", "a", "private-b", "--event", "e", "--json", "--count", "3"),
                environment: ["PUSHER_SECRET": PusherMockServer.App.defaultSecret])
            #expect(await server.waitFor { $0.channels() == ["a", "private-b"] })
            await server.publish(event: "e", channel: "a", data: "{\"x\":1}")
            await server.publish(event: "other", channel: "a", data: "")
            await server.publish(event: "e", channel: "private-b", data: "line\nbreak")
            await server.publish(event: "e", channel: "a", data: "")
            #expect(await command.status() == 0)
            #expect(command.output.count == 3)
            let objects = command.output.compactMap {
                try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: String]
            }
            #expect(objects.map { $0["type"] } == ["event", "event", "event"])
            #expect(objects.map { $0["channel"] } == ["a", "private-b", "a"])
            #expect(objects.map { $0["data"] } == ["{\"x\":1}", "line\nbreak", ""])
            let time = try #require(objects.first?["time"])
            #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
        }
    }

    @Test func humanOutputHasNoColourInAPipeAndNoControlCharacters() async throws {
        try await withServer { server in
            let command = try CommandRun(arguments(server, "subscribe", "a", "--count", "1"))
            #expect(await server.waitFor { $0.channels() == ["a"] })
            await server.publish(event: "e", channel: "a", data: "x\u{1B}[31m\ny")
            #expect(await command.status() == 0)
            let line = try #require(command.output.first)
            #expect(line.wholeMatch(of: /\d\d:\d\d:\d\d\.\d{3}  a  e  x\\u\{1B\}\[31m\\ny/) != nil, "\(line)")
        }
    }

    @Test(arguments: ["subscribe", "listen"])
    func aStreamHasColourInAPipeIfAskedFor(command: String) async throws {
        try await withServer { server in
            let command = try CommandRun(
                arguments(server, command, "a", "--count", "1", "--color", "always"), environment: ["NO_COLOR": "1"])
            #expect(await server.waitFor { $0.channels() == ["a"] })
            await server.publish(event: "e", channel: "a", data: "x")
            #expect(await command.status() == 0)
            #expect(command.output.last?.contains("\u{1B}[1me\u{1B}[0m") == true)
        }
    }

    @Test func aRestartOfTheServerShowsInListenAndNothingElseIsNeeded() async throws {
        let server = try await PusherMockServer.start()
        let command = try CommandRun(
            arguments(server, "listen", "a", "presence-x", "--json", "--count", "1", "--user-id", "u1"),
            environment: ["PUSHER_SECRET": PusherMockServer.App.defaultSecret])
        #expect(await command.waitFor { $0.count { $0.contains(#""type":"subscribed""#) } == 2 })
        await server.stop()
        #expect(await command.waitFor { $0.contains { $0.contains(#""to":"reconnecting""#) } })
        let second = try await PusherMockServer.start(server.configuration)
        #expect(await command.waitFor { $0.count { $0.contains(#""type":"subscribed""#) } == 4 })
        await second.publish(event: "e", channel: "a", data: "back")
        #expect(await command.status() == 0)
        #expect(command.output.last?.contains(#""data":"back""#) == true)
        #expect(command.output.contains { $0.contains(#""channel":"presence-x","members":1"#) })
        #expect(command.output.count { $0.contains(#""to":"connected","socket_id":""#) } == 2)
        await second.stop()
    }

    @Test func aWrongKeyIsExplained() async throws {
        try await withServer { server in
            let command = try CommandRun([
                "subscribe", "a", "--no-tls", "--host", "127.0.0.1", "--port", "\(server.port)", "--key", "wrong",
            ])
            #expect(await command.status() == 77)
            #expect(command.errors.contains { $0.contains("wrong key or wrong cluster") && $0.contains("4001") })
            #expect(await server.state.history.count { if case .connectionRefused = $0 { true } else { false } } == 1)
        }
    }

    @Test func nobodyThereIsStatus69() async throws {
        let command = try CommandRun([
            "subscribe", "a", "--no-tls", "--host", "127.0.0.1", "--port", "1", "--key", "k", "--connect-timeout",
            "0.5",
        ])
        #expect(await command.status() == 69)
        #expect(command.errors.contains { $0.contains("cannot connect to 127.0.0.1:1") })
    }

    @Test(arguments: ["http_proxy", "all_proxy"])
    func theEnvironmentsProxyIsUsed(name: String) async throws {
        let heads = Lock<[String]>([])
        let proxy = SocketServer { peer in
            let head = peer.readHead()
            heads.withLock { $0.append(head) }
            peer.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        }
        let arguments = [
            "subscribe", "a", "--no-tls", "--host", "127.0.0.1", "--port", "1", "--key", "k", "--connect-timeout", "1",
        ]
        let refused = try CommandRun(arguments, environment: [name: "http://127.0.0.1:\(proxy.port)"])
        #expect(await refused.status() == 69)
        #expect(refused.errors.contains { $0.contains("the proxy refused to connect to 127.0.0.1:1: it answered 403") })
        #expect(heads.withLock { $0.first?.hasPrefix("CONNECT 127.0.0.1:1 ") } == true)
        let direct = try CommandRun(
            arguments, environment: [name: "http://127.0.0.1:\(proxy.port)", "no_proxy": "127.0.0.1"])
        #expect(await direct.status() == 69)
        #expect(direct.errors.contains { $0.contains("cannot connect to 127.0.0.1:1") })
    }

    @Test func tooFewEventsInTimeIsStatus75() async throws {
        try await withServer { server in
            let command = try CommandRun(arguments(server, "subscribe", "a", "--count", "1", "--timeout", "3"))
            #expect(await command.status() == 75)
        }
    }

    /// A login page, a portal or a redirect is not a refusal.
    @Test(arguments: [(200, "<html>Log in</html>"), (200, ""), (200, #"{"ok":true}"#), (302, ""), (503, "")])
    func anAuthEndpointThatGivesNoAnswerToUseIsStatus69(status: Int, body: String) async throws {
        try await withServer { server in
            for channel in ["private-a", "presence-a", "private-encrypted-a"] {
                await server.failAuth(.respond(status: status, body: body))
                let endpoint = "http://127.0.0.1:\(server.port)/pusher/auth"
                let command = try CommandRun(
                    arguments(server, "subscribe", channel, "--auth-endpoint", endpoint, "--timeout", "5"))
                #expect(await command.status() == 69, "\(command.errors)")
                #expect(command.errors.contains { $0.contains(channel) && $0.contains("auth endpoint") })
            }
        }
    }

    @Test func refusedAuthorizationIsStatus77_alsoWhereAnotherChannelGoesOn() async throws {
        try await withServer { server in
            await server.failAuth(.respond(status: 403, body: "no"))
            let endpoint = "http://127.0.0.1:\(server.port)/pusher/auth"
            let refused = try CommandRun(
                arguments(server, "subscribe", "private-a", "private-b", "--auth-endpoint", endpoint))
            #expect(await refused.status() == 77)
            #expect(refused.errors.contains { $0.contains("the auth endpoint answered 403") })

            let partly = try CommandRun(
                arguments(server, "subscribe", "private-a", "c", "--auth-endpoint", endpoint, "--count", "1"))
            #expect(await server.waitFor { $0.channels() == ["c"] })
            #expect(await eventually { partly.errors.contains { $0.contains("answered 403") } })
            await server.publish(event: "e", channel: "c", data: "")
            #expect(await partly.status() == 77)
        }
    }

    @Test func interruptIsACleanEnd() async throws {
        try await withServer { server in
            let command = try CommandRun(arguments(server, "listen", "a", "--json"))
            #expect(await command.waitFor { $0.contains { $0.contains(#""type":"subscribed""#) } })
            command.interrupt()
            #expect(await command.status() == 0)
            #expect(
                await server.waitFor { state in
                    state.history.contains { if case .connectionClosed(_, 1000) = $0 { true } else { false } }
                })
        }
    }

    @Test func aReaderThatLeavesIsAQuietEnd() async throws {
        try await withServer { server in
            let command = try CommandRun(arguments(server, "subscribe", "a"), closesOutput: true)
            #expect(await server.waitFor { $0.channels() == ["a"] })
            await server.publish(event: "e", channel: "a", data: "")
            #expect(await command.status() == 0)
            #expect(command.errors == ["listening to a on 127.0.0.1:\(server.port)"])
        }
    }

    @Test func triggerPublishesArgumentsStandardInputAndBatches() async throws {
        try await withServer { server in
            let stream = try CommandRun(arguments(server, "subscribe", "a", "b", "--json", "--count", "5"))
            #expect(await server.waitFor { $0.channels() == ["a", "b"] })
            let secret = [
                "PUSHER_SECRET": PusherMockServer.App.defaultSecret, "PUSHER_APP_ID": PusherMockServer.App.defaultID,
            ]
            let single = try CommandRun(arguments(server, "trigger", "a,b", "e", "text"), environment: secret)
            #expect(await single.status() == 0)
            let piped = try CommandRun(arguments(server, "trigger", "a", "e", "-"), environment: secret, input: "piped")
            #expect(await piped.status() == 0)
            let batch = try CommandRun(
                arguments(server, "trigger", "--batch", "-"), environment: secret,
                input: #"[{"channel":"a","name":"e","data":"1"},{"channel":"b","name":"e","data":"2"}]"#)
            #expect(await batch.status() == 0)
            #expect(await stream.status() == 0)
            #expect(stream.output.count == 5)
        }
    }

    @Test func encryptedChannelsAreReadAndPublishedOn() async throws {
        let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        let environment = [
            "PUSHER_SECRET": PusherMockServer.App.defaultSecret, "PUSHER_APP_ID": PusherMockServer.App.defaultID,
            "PUSHER_ENCRYPTION_MASTER_KEY": masterKey,
        ]
        try await withServer { server in
            let stream = try CommandRun(
                arguments(server, "subscribe", "private-encrypted-x", "--json", "--count", "1"),
                environment: environment)
            #expect(await server.waitFor { $0.channels() == ["private-encrypted-x"] })
            let trigger = try CommandRun(
                arguments(server, "trigger", "private-encrypted-x", "e", "hidden"), environment: environment)
            #expect(await trigger.status() == 0)
            #expect(await stream.status() == 0)
            #expect(stream.output.first?.contains(#""data":"hidden""#) == true)
        }
    }

    @Test func triggerFailsWithAStatus() async throws {
        try await withServer { server in
            let id = ["PUSHER_APP_ID": PusherMockServer.App.defaultID]
            let refused = try CommandRun(
                arguments(server, "trigger", "a", "e", "x", "--secret", "wrong"), environment: id)
            #expect(await refused.status() == 77)
            #expect(refused.errors.contains { $0.contains("the process list shows --secret") })
            let notJSON = try CommandRun(
                arguments(server, "trigger", "--batch", "-"),
                environment: id.merging(["PUSHER_SECRET": "s"]) { $1 }, input: "nonsense")
            #expect(await notJSON.status() == 65)
            let noText = try CommandRun(
                arguments(server, "trigger", "--batch", "-"),
                environment: id.merging(["PUSHER_SECRET": "s"]) { $1 },
                input: #"[{"channel":"a","name":"e","data":{"x":1}}]"#)
            #expect(await noText.status() == 65)
            #expect(noText.errors.first?.contains("every value is a string: also data") == true)
            let unsigned = try CommandRun(arguments(server, "trigger", "a", "e", "x"), environment: id)
            #expect(await unsigned.status() == 64)
        }
    }

    @Test(arguments: [
        ["subscribe"], ["subscribe", "a"], ["subscribe", "a", "--key", "k", "--port", "99999"], ["nonsense"],
        ["subscribe", "a", "--key", "k", "--count", "0"], ["trigger", "a", "--key", "k"],
        ["subscribe", "a", "--key", "k", "--auth-endpoint", "nonsense"], ["serve", "--certificate", "x"],
        ["serve", "--profile", "x"], ["auth-server"], ["auth-server", "--key", "k", "--secret", "s", "--port", "x"],
        ["subscribe", "a", "--key", "k", "--user-id", "u", "--user-info", "{nonsense"],
    ])
    func wrongUseIsStatus64(arguments: [String]) async throws {
        let command = try CommandRun(arguments)
        #expect(await command.status() == 64)
        #expect(command.output == [])
        #expect(!command.errors.isEmpty)
    }

    @Test func serveSaysWhereItListensAndStopsWhenAsked() async throws {
        let command = try CommandRun(["serve", "--port", "0", "--app-id", "1", "--key", "k", "--secret", "s"])
        #expect(await command.waitFor { !$0.isEmpty })
        let port = try #require(Int(command.output.first?.split(separator: ":").last ?? ""))
        #expect(command.output.first == "listening on 127.0.0.1:\(port)")
        let api = PusherHTTPClient(
            appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: port, useTLS: false, proxy: "")
        try await api.trigger(event: "e", channels: ["c"], data: "x")
        command.interrupt()
        #expect(await command.status() == 0)
    }

    private func port(of command: CommandRun) async throws -> Int {
        #expect(await command.waitFor { !$0.isEmpty })
        let address = try #require(command.output.first?.wholeMatch(of: #/listening on 127\.0\.0\.1:(\d+)/#))
        return try #require(Int(address.output.1))
    }

    private func post(_ path: String, _ form: String, port: Int) async throws -> (status: Int, body: String) {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
        request.httpMethod = "POST"
        request.httpBody = Data(form.utf8)
        let (data, response) = try await URLSession.shared.data(for: request)
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
    }

    @Test func serveImitatesAProfileAndPlaysAScript() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"[{"do":"fail-auth","status":418,"times":1}]"#.utf8).write(to: file)
        let command = try CommandRun([
            "serve", "--port", "0", "--key", "k", "--profile", "soketi", "--subscription-counts", "--script", file.path,
        ])
        let port = try await port(of: command)
        #expect(try await post("/pusher/auth", "socket_id=1.2&channel_name=private-x", port: port).status == 418)
        let client = try CommandRun([
            "listen", "a", "--no-tls", "--host", "127.0.0.1", "--port", "\(port)", "--key", "k", "--json",
        ])
        #expect(await client.waitFor { $0.contains { $0.contains(#""type":"subscribed""#) } })
        client.interrupt()
        command.interrupt()
        #expect(await command.status() == 0)
    }

    @Test func wrongScriptIsStatus65AndItsStepIsNamed() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"[{"do":"drop"},{"do":"dance"}]"#.utf8).write(to: file)
        let command = try CommandRun(["serve", "--port", "0", "--script", file.path])
        #expect(await command.status() == 65)
        #expect(command.errors.contains { $0.contains("step 2: unknown action “dance”") })
        let missing = try CommandRun(["serve", "--port", "0", "--script", "/nowhere.json"])
        #expect(await missing.status() == 65)
        #expect(missing.errors == ["error: /nowhere.json cannot be read: No such file or directory"])
    }

    @Test func authServerSignsAndServesNothingElse() async throws {
        let command = try CommandRun(
            ["auth-server", "--port", "0"],
            environment: [
                "PUSHER_KEY": "278d425bdf160c739803", "PUSHER_SECRET": "7ad3773142a6692b25b8",
                "PUSHER_ENCRYPTION_MASTER_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            ])
        let port = try await port(of: command)
        let channel = try await post(
            "/pusher/auth", "socket_id=1234.1234&channel_name=private-encrypted-room", port: port)
        #expect(channel.body.contains("98e84cf417fd22d611fa93b4ec322087ab4298977c873bc416735f8743194648"))
        #expect(channel.body.contains("jLl7T7Vic8zzeBQOhI8a5zJ4iMwqc2omg0xT37NC5hs="))
        let user = try await post("/pusher/user-auth", "socket_id=1234.1234&user_id=12345", port: port)
        #expect(user.body.contains("4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"))
        #expect(try await post("/apps/1/events", "{}", port: port).status == 404)
        command.interrupt()
        #expect(await command.status() == 0)
    }
}
