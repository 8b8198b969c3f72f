import Basics
import Foundation
import MatrixTestSupport
import PusherMockServer
import PusherProtocol
import PusherProtocolTestSupport
import PydioTestSupport
import TestSupport
import Testing
import Transport

/// Hostile text in every field from a server. In any command's output, on standard output and standard error, it
/// neither controls the terminal nor forges a line.
@Suite(.overSockets)
struct PeerTextOutputTests {
    private static let texts = [HostileText.short]
    private static let hostile = HostileText.json(HostileText.short)

    /// Checks the process's output byte for byte. Its division into lines is part of the check.
    private func expectFitOutput(
        _ run: CommandRun, isJSON: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for (stream, lines, isBounded) in [("output", run.output, false), ("errors", run.errors, true)] {
            for line in lines {
                let flaws = HostileText.flaws(in: line, isBounded: isBounded, isPiped: stream == "output" && !isJSON)
                if !flaws.isEmpty {
                    Issue.record(
                        "\(flaws) in \(stream): \(line.prefix(400).debugDescription)", sourceLocation: sourceLocation)
                }
                if isJSON, stream == "output" {
                    let object = try? JSONSerialization.jsonObject(with: Data(line.utf8))
                    #expect(object is [String: Any], "\(line.prefix(400))", sourceLocation: sourceLocation)
                }
                #expect(
                    !line.hasPrefix("2026-01-01") && !line.hasPrefix("forged"), "a forged line in \(stream)",
                    sourceLocation: sourceLocation)
            }
        }
    }

    // MARK: Pusher

    private func pusherOptions(_ port: Int) -> [String] {
        ["--key", "k", "--secret", "s", "--host", "127.0.0.1", "--port", "\(port)", "--no-tls", "--proxy", ""]
    }

    @Test(arguments: [true, false], ["subscribe", "listen"])
    func whatAPusherServerSends(asJSON: Bool, command: String) async throws {
        let server = HostileFrames.serve(Self.texts)
        let run = try CommandRun(
            [command, "presence-room", HostileFrames.refusedChannel, "--verbose", "--user-id", "me"]
                + (command == "listen" ? ["--sign-in"] : [])
                + (asJSON ? ["--json"] : []) + pusherOptions(server.port))
        #expect(await run.waitFor { $0.contains { $0.contains("done") } })
        if command == "listen" { #expect(await eventually { run.errors.contains { $0.contains("signed in") } }) }
        run.interrupt()
        #expect(await run.status() != nil)
        #expect(run.output.count > 3)
        expectFitOutput(run, isJSON: asJSON)
    }

    @Test(arguments: [true, false])
    func whatTheDoctorFinds(asJSON: Bool) async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 403 \u{1B}[2J\u{9B}\u{202E}\u{2028}forged\r\n\r\n")
        }
        let run = try CommandRun(["doctor", "private-x"] + (asJSON ? ["--json"] : []) + pusherOptions(server.port))
        #expect(await run.status() == 69)
        expectFitOutput(run, isJSON: asJSON)
    }

    @Test(arguments: [
        ["channels"], ["channels", "--json"], ["channel", "a"], ["channel", "a", "--json"], ["users", "presence-a"],
        ["users", "presence-a", "--json"], ["trigger", "a", "e", "d", "--info", "user_count"], ["terminate", "u"],
    ])
    func whatTheHTTPAPIAnswers(arguments: [String]) async throws {
        let (h, text) = (Self.hostile, HostileText.short)
        for (status, body) in [
            (
                200,
                #"{"channels":{\#(h):{"user_count":1,"cache":{"data":\#(h),"ttl":1}}},"users":[{"id":\#(h)}],"#
                    + #""cache":{"data":\#(h),"ttl":1},"occupied":true}"#
            ), (400, text), (401, h), (500, "<html>" + text), (200, text),
        ] {
            let server = SocketServer { peer in
                _ = peer.readHead()
                peer.write(
                    "HTTP/1.1 \(status) \u{1B}[2J\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
                        + body)
            }
            let run = try CommandRun(
                arguments + ["--no-tls", "--host", "127.0.0.1", "--port", "\(server.port)"],
                environment: ["PUSHER_KEY": "k", "PUSHER_SECRET": "s", "PUSHER_APP_ID": "1"])
            #expect(await run.status() != nil)
            expectFitOutput(run, isJSON: arguments.contains("--json"))
        }
    }

    @Test(arguments: [true, false])
    func whatAWebhookSays(asJSON: Bool) async throws {
        let h = Self.hostile
        let body = #"""
            {"time_ms":9007199254740992000,"events":[{"name":"channel_occupied","channel":\#(h)},
            {"name":"member_added","channel":\#(h),"user_id":\#(h)},{"name":\#(h),"x":\#(h)},
            {"name":"client_event","channel":\#(h),"event":\#(h),"data":\#(h),"socket_id":\#(h),"user_id":\#(h)}]}
            """#
        let signature = AppCredentials(key: "k", secret: "s").webhookSignature(body: Array(body.utf8))
        let run = try CommandRun(
            ["webhook", "verify", "-", "--any-age", "--signature", signature] + (asJSON ? ["--json"] : []),
            environment: ["PUSHER_KEY": "k", "PUSHER_SECRET": "s"], input: body)
        #expect(await run.status() == 0)
        #expect(run.output.count == 4)
        expectFitOutput(run, isJSON: asJSON)
    }

    // MARK: Matrix

    private static let event = #"""
        {"type":\#(hostile),"event_id":\#(hostile),"sender":\#(hostile),"state_key":\#(hostile),"content":{"a":\#(hostile)}}
        """#
    private static let message = #"""
        {"type":"m.room.message","event_id":\#(hostile),"sender":\#(hostile),"origin_server_ts":9223372036854775807,
        "content":{"msgtype":\#(hostile),"body":\#(hostile),"url":\#(hostile)}}
        """#
    private static let states = #"""
        {"type":"m.room.name","state_key":"","event_id":"$n","sender":"@b:hs","content":{"name":\#(hostile)}},
        {"type":"m.room.topic","state_key":"","event_id":"$t","sender":"@b:hs","content":{"topic":\#(hostile)}},
        {"type":"m.room.canonical_alias","state_key":"","event_id":"$c","sender":"@b:hs","content":{"alias":\#(hostile)}},
        {"type":"m.room.member","state_key":\#(hostile),"event_id":"$m","sender":"@b:hs",
        "content":{"membership":"join","displayname":\#(hostile),"reason":\#(hostile)}},\#(message),\#(event)
        """#

    private static func sync(_ more: String = "") -> String {
        #"""
        ,"rooms":{"join":{\#(hostile):{"state":{"events":[\#(states)]},"timeline":{"events":[\#(message),\#(event)]}},
        "!r:hs":{"state":{"events":[\#(states)]},"timeline":{"events":[\#(message),\#(event),\#(states)\#(more)]}}},
        "invite":{\#(hostile):{"invite_state":{"events":[\#(states),
        {"type":"m.room.member","state_key":"@alice:hs","sender":\#(hostile),"content":{"membership":"invite"}}]}}}},
        "account_data":{"events":[\#(event)]},"presence":{"events":[\#(event)]}
        """#
    }

    @Test(arguments: [
        ["rooms"], ["rooms", "--json"], ["messages", "!r:hs"], ["messages", "!r:hs", "--json"], ["send", "!r:hs", "x"],
        ["create"], ["join", "!r:hs"], ["leave", "!r:hs"], ["invite", "!r:hs", "@bob:hs"],
        ["react", "!r:hs", "$e", "x"], ["upload", "/etc/hostname"], ["upload", "/etc/hostname", "--room", "!r:hs"],
        ["send", "a name", "x"], ["send", "#alias:hs", "x"], ["logout"],
    ])
    func whatAHomeserverAnswers(arguments: [String]) async throws {
        let h = Self.hostile
        for isRefused in [false, true] {
            let scene = try await MatrixScene()
            scene.syncsBegin(Self.sync())
            scene.server.on("GET", "v3/rooms/*/messages", .json(#"{"start":"a","chunk":[\#(Self.states)]}"#))
            let answer =
                isRefused
                ? FakeAnswer.json(#"{"errcode":\#(h),"error":\#(h),"soft_logout":true,"x":\#(h)}"#, status: 403)
                : FakeAnswer.json(#"{"event_id":\#(h),"room_id":\#(h),"content_uri":"mxc://hs/a","aliases":[\#(h)]}"#)
            for (method, path) in [
                ("PUT", "v3/rooms/*/send/*/*"), ("POST", "v3/createRoom"), ("POST", "v3/join/*"),
                ("POST", "v3/rooms/*/leave"), ("POST", "v3/rooms/*/invite"), ("POST", "/_matrix/media/v3/upload"),
                ("GET", "v3/directory/room/*"), ("GET", "v1/media/config"), ("POST", "v3/logout"),
            ] { scene.server.on(method, path, answer) }
            let run = try scene.run(["matrix"] + arguments)
            #expect(await run.status() != nil)
            #expect(!(run.output + run.errors).isEmpty || ["leave", "invite", "logout"].contains(arguments[0]))
            expectFitOutput(run, isJSON: arguments.contains("--json"))
        }
    }

    @Test(arguments: [true, false])
    func whatASyncBrings(asJSON: Bool) async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(Self.sync())
        let run = try scene.run(["matrix", "listen"] + (asJSON ? ["--json"] : []))
        #expect(await run.waitFor { $0.contains { $0.contains("running") } })
        scene.bring(Self.sync("," + MatrixScene.message("$last", "the last")))
        #expect(await run.waitFor { $0.contains { $0.contains("the last") } })
        run.interrupt()
        #expect(await run.status() == 0)
        #expect(run.output.count > 4)
        expectFitOutput(run, isJSON: asJSON)
    }

    @Test func whatALoginAnswers() async throws {
        let h = Self.hostile
        for (status, body) in [
            (200, #"{"user_id":\#(h),"device_id":\#(h),"access_token":"t"}"#),
            (403, #"{"errcode":\#(h),"error":\#(h)}"#),
            (429, #"{"errcode":"M_LIMIT_EXCEEDED","error":\#(h)}"#), (500, HostileText.short),
        ] {
            let scene = try await MatrixScene(isLoggedIn: false)
            scene.server.on("GET", "v3/login", .json(#"{"flows":[{"type":"m.login.password"},{"type":\#(h)}]}"#))
            scene.server.on("POST", "v3/login", .json(body, status: status))
            let run = try scene.run(
                ["matrix", "login", scene.server.address, "--user", "alice", "--password-stdin"], input: "p\n")
            #expect(await run.status() != nil)
            expectFitOutput(run)
        }
    }

    @Test(arguments: [true, false])
    func whatAPushNotificationSays(asJSON: Bool) async throws {
        let h = Self.hostile
        let run = try CommandRun(["matrix", "push-gateway", "--port", "0"] + (asJSON ? ["--json"] : []))
        #expect(await eventually { !run.errors.isEmpty })
        let address = try #require(run.errors.first?.split(separator: " ").last)
        let port = try #require(address.split(separator: "/")[1].split(separator: ":").last.flatMap { Int($0) })
        let body = #"""
            {"notification":{"event_id":\#(h),"room_id":\#(h),"type":\#(h),"sender":\#(h),"sender_display_name":\#(h),
            "room_name":\#(h),"content":{"body":\#(h)},"counts":{"unread":1},"devices":[{"app_id":\#(h),"pushkey":"k"}]}}
            """#
        let peer = try #require(SocketServer.Peer.connect(port: port))
        let path = address.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" }
        peer.write(
            "POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        #expect(await run.waitFor { $0.count == 1 })
        run.interrupt()
        #expect(await run.status() == 0)
        expectFitOutput(run, isJSON: asJSON)
    }

    // MARK: Pydio

    /// The part of it that XML can contain.
    private static let name = "a\u{85}b\u{9B}31m\u{202E}gpj.exe\u{2066}\u{200F}\u{2028}\u{7F}\u{206A}"

    @Test(arguments: [
        ["workspaces"], ["workspaces", "--json"], ["ls", "0:"], ["ls", "0:", "--json"], ["ls", "0:", "--recursive"],
        ["get", "0:/", "--recursive"], ["get", "0:/", "--recursive", "--json"], ["mv", "0:/\(name)", "0:/b"],
        ["rm", "0:/\(name)"],
        ["put", "/etc/hostname", "0:/\(name)2"], ["mkdir", "0:/\(name)3"], ["cp", "0:/\(name)", "0:/c"],
    ])
    func whatAPydioServerAnswers(arguments: [String]) async throws {
        var configuration = FakePydioServer.Configuration(mode: .v8)
        for index in configuration.workspaces.indices where configuration.workspaces[index].id == "0" {
            configuration.workspaces[index].label = Self.name
        }
        for fault in [nil, FakePydioServer.Fault.errorDocument(Self.name), .scriptError, .htmlPage(500), .garbage] {
            let scene = try await PydioScene(configuration)
            try scene.server.addFile("/" + Self.name, Array("hello".utf8))
            try scene.server.addFile("/docs/" + Self.name, Array("hello".utf8))
            #expect(try await scene.pydio("workspaces").status == 0)
            if let fault { scene.server.inject(fault, after: 1) }
            let run = try scene.run(
                ["pydio"]
                    + (arguments[0] == "get"
                        ? [arguments[0], arguments[1], scene.local("out").path] + arguments[2...] : arguments))
            #expect(await run.status() != nil)
            expectFitOutput(run, isJSON: arguments.contains("--json"))
        }
    }

    @Test(arguments: [true, false])
    func whatAWorkspaceTells(asJSON: Bool) async throws {
        var configuration = FakePydioServer.Configuration(mode: .v8)
        configuration.hasWebSocket = true
        let scene = try await PydioScene(configuration)
        let run = try scene.run(
            ["pydio", "watch", "plans", "--count", "1", "--poll-interval", "2"] + (asJSON ? ["--json"] : []))
        #expect(await run.waitFor { $0.contains { $0.contains("connected") } })
        #expect(await eventually { scene.server.webSockets == ["0"] })
        scene.server.act("mkdir", ["dir": "/", "dirname": Self.name], as: "ada")
        #expect(await run.status() == 0)
        expectFitOutput(run, isJSON: asJSON)
    }

    // MARK: The mock server

    /// It prints nothing from its clients.
    @Test func whatClientsSendToTheMockServer() async throws {
        let run = try CommandRun(
            ["serve", "--port", "0", "--app-id", "1", "--key", "k"], environment: ["PUSHER_SECRET": "s"])
        #expect(await run.waitFor { !$0.isEmpty })
        let port = try #require(run.output.first?.split(separator: ":").last.flatMap { Int($0) })
        let hostile = "\u{1B}[2J\u{9B}\u{202E}forged"
        for request in [
            "GET /app/\(hostile)?protocol=\(hostile) HTTP/1.1\r\nHost: \(hostile)\r\nX: \(hostile)\r\n\r\n",
            "POST /apps/\(hostile)/events?auth_key=\(hostile) HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
            "POST /pusher/auth HTTP/1.1\r\nHost: h\r\nContent-Length: \(hostile.utf8.count)\r\n\r\n\(hostile)",
            hostile + "\r\n\r\n",
        ] {
            let peer = try #require(SocketServer.Peer.connect(port: port))
            peer.write(request)
            _ = peer.read()
            close(peer.descriptor)
        }
        let peer = try #require(SocketServer.Peer.connect(port: port))
        peer.write(
            "GET /app/k?protocol=7 HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        _ = peer.readHead()
        for frame in HostileFrames.all(HostileText.short) where frame.utf8.count < 60_000 {
            let count = frame.utf8.count
            peer.write([0x81, 0xFE, UInt8(count >> 8), UInt8(count & 255), 0, 0, 0, 0] + Array(frame.utf8))
        }
        _ = peer.read()
        close(peer.descriptor)
        run.interrupt()
        #expect(await run.status() == 0)
        #expect(run.output.count == 5)
        expectFitOutput(run)
    }
}
