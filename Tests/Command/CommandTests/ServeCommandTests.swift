import Basics
import Foundation
import FoundationNetworking
import PusherHTTP
import PusherMockServer
import PusherProtocol
import TestSupport
import Testing

/// `serve` and `auth-server`: their addresses, their output, and reasons for not starting.
@Suite(.overSockets)
struct ServeCommandTests {
    private static let credentials = ["--app-id", "1", "--key", "k"]
    private static let environment = ["PUSHER_SECRET": "s3cret"]

    private func serve(_ arguments: String...) throws -> CommandRun {
        try CommandRun(
            ["serve", "--port", "0"] + Self.credentials + arguments, environment: Self.environment)
    }

    private func port(of run: CommandRun) async throws -> Int {
        #expect(await run.waitFor { !$0.isEmpty })
        let line = try #require(run.output.first)
        if let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] {
            return try #require(object["port"] as? Int)
        }
        return try #require(line.split(separator: ":").last.flatMap { Int($0) })
    }

    private func api(_ port: Int, secret: String = "s3cret") -> PusherHTTPClient {
        PusherHTTPClient(
            appID: "1", key: "k", secret: secret, host: "127.0.0.1", port: port, useTLS: false, proxy: "")
    }

    private func objects(_ run: CommandRun) throws -> [[String: Any]] {
        try run.output.map { line in
            try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
    }

    private func client(_ command: String, _ arguments: [String], port: Int) throws -> CommandRun {
        try CommandRun(
            [command] + arguments + [
                "--no-tls", "--host", "127.0.0.1", "--port", "\(port)", "--key", "k", "--proxy", "",
            ],
            environment: Self.environment)
    }

    // MARK: Output

    @Test func verboseTellsWhatHappens() async throws {
        let run = try serve("--verbose", "--webhook-url", "http://127.0.0.1:1/")
        let port = try await port(of: run)
        let listener = try client("subscribe", ["presence-x", "--user-id", "ann"], port: port)
        #expect(await eventually { run.errors.contains { $0.contains("presence-x  subscribed") } })
        try await api(port).trigger(event: "e", channels: ["presence-x"], data: String(repeating: "x", count: 5000))
        let sender = try client("client-event", ["presence-x", "client-e", "[1]", "--user-id", "bob"], port: port)
        #expect(await sender.status() == 0)
        await #expect(throws: (any Error).self) { try await api(port, secret: "wrong").channels() }
        listener.interrupt()
        #expect(await listener.status() != nil)
        #expect(await eventually { run.errors.count { $0.contains("disconnected") } == 2 })
        run.interrupt()
        #expect(await run.status() == 0)
        #expect(
            run.output == [
                "listening on 127.0.0.1:\(port)", "app id: 1", "key: k",
                "encryption master key: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
                "PUSHER_URL=http://k@127.0.0.1:\(port)/apps/1",
            ])
        #expect(run.errors.first == "Try: pusher-cli subscribe my-channel")
        for expected in [
            #/-  connected  socket id \d+\.\d+/#,
            #/presence-x  event  e  x{199}…  \(over the HTTP API, 1 recipient\)/#,
            #/presence-x  client_event  client-e  \[1\]  \(from bob, 1 recipient\)/#,
            #/presence-x  unsubscribed  socket id \d+\.\d+/#,
            #/-  webhook_failed  cannot connect: Connection refused, tried again in 1 s/#,
            #/-  request_refused  GET /apps/1/channels: status 401/#,
            #/-  disconnected  socket id \d+\.\d+, code 1000/#,
        ] {
            let isThere = run.errors.dropFirst().contains { line in
                line.prefixMatch(of: #/\d\d:\d\d:\d\d\.\d{3}  /#).map { line[$0.range.upperBound...] }?
                    .wholeMatch(of: expected) != nil
            }
            #expect(isThere, "\(run.errors)")
        }
        #expect(!run.errors.joined().contains("s3cret"))
    }

    @Test func jsonIsOneObjectALine() async throws {
        let run = try serve("--verbose", "--json")
        let port = try await port(of: run)
        let listener = try client("subscribe", ["presence-x", "--user-id", "ann"], port: port)
        #expect(await run.waitFor { $0.contains { $0.contains(#""subscribed""#) } })
        try await api(port).trigger(
            event: "e\u{202E}", channels: ["presence-x"], data: "a\n" + String(repeating: "é", count: 300))
        let sender = try client("client-event", ["presence-x", "client-e", "[1]", "--user-id", "bob"], port: port)
        #expect(await sender.status() == 0)
        listener.interrupt()
        #expect(await listener.status() != nil)
        #expect(await run.waitFor { $0.count { $0.contains(#""disconnected""#) } == 2 })
        run.interrupt()
        #expect(await run.status() == 0)
        let objects = try objects(run)
        let listening = try #require(objects.first)
        #expect(listening["type"] as? String == "listening" && listening["host"] as? String == "127.0.0.1")
        for object in objects {
            let time = try #require(object["time"] as? String)
            #expect(time.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) != nil)
        }
        #expect(
            Set(objects.compactMap { $0["type"] as? String }) == [
                "listening", "connected", "subscribed", "event", "client_event", "unsubscribed", "disconnected",
            ])
        let event = try #require(objects.first { $0["type"] as? String == "event" })
        #expect(event["channel"] as? String == "presence-x" && event["event"] as? String == "e\u{202E}")
        #expect(event["data"] as? String == "a\n" + String(repeating: "é", count: 197) + "…")
        #expect(event["shortened"] as? Bool == true && event["recipients"] as? Int == 1)
        #expect(event["source"] as? String == "http_api")
        let fromClient = try #require(objects.first { $0["type"] as? String == "client_event" })
        #expect(fromClient["user_id"] as? String == "bob" && fromClient["data"] as? String == "[1]")
        #expect(fromClient["shortened"] == nil)
        // Messages for people go to the other stream, and no event is reported twice.
        #expect(run.errors.count == 1)
    }

    @Test func withoutVerboseJSONSaysOnlyWhereItListens() async throws {
        let run = try serve("--json")
        let port = try await port(of: run)
        try await api(port).trigger(event: "e", channels: ["c"], data: "x")
        run.interrupt()
        #expect(await run.status() == 0)
        let types = try objects(run).map { $0["type"] as? String }
        #expect(types == ["listening"])
        #expect(run.errors == [])
    }

    /// Every text that a client can send, in both output forms.
    @Test(arguments: [true, false])
    func whatClientsSendIsHarmless(asJSON: Bool) async throws {
        let run = try asJSON ? serve("--verbose", "--json") : serve("--verbose")
        let port = try await port(of: run)
        let (text, signature) = (HostileText.short, HostileText.signature)
        let peer = try #require(SocketServer.Peer.connect(port: port))
        defer { close(peer.descriptor) }
        peer.write(
            "GET /app/k?protocol=7 HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        _ = peer.readHead()
        let established = String(decoding: peer.read(), as: UTF8.self)
        let socketID = try #require(established.firstMatch(of: #/\d+\.\d+/#).flatMap { SocketID(String($0.output)) })
        let channelData = #"{"user_id":\#(HostileText.json(String(text.prefix(60))))}"#
        let auth = AppCredentials(key: "k", secret: "s3cret").channelAuth(
            socketID: socketID, channel: try ChannelName("presence-x"), channelData: channelData)
        for frame in [
            #"{"event":"pusher:subscribe","data":{"channel":\#(HostileText.json(text))}}"#,
            #"{"event":"pusher:subscribe","data":{"channel":"private-a","auth":"k:\#(signature)"}}"#,
            #"{"event":"pusher:subscribe","data":{"channel":"private-b","auth":"\#(signature)"}}"#,
            #"{"event":"pusher:subscribe","data":{"channel":"presence-x","auth":"\#(auth)","channel_data":"#
                + HostileText.json(channelData) + "}}",
            #"{"event":\#(HostileText.json("client-" + text.prefix(90))),"channel":"presence-x","data":"#
                + HostileText.json(text + signature) + "}",
        ] {
            let count = frame.utf8.count
            peer.write([0x81, 0xFE, UInt8(count >> 8), UInt8(count & 255), 0, 0, 0, 0] + Array(frame.utf8))
        }
        let other = try #require(SocketServer.Peer.connect(port: port))
        other.write("POST /\u{1B}[2J\u{9B}\u{202E}\(signature) HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
        _ = other.read()
        close(other.descriptor)
        #expect(await eventually { (run.output + run.errors).contains { $0.contains("client_event") } })
        run.interrupt()
        #expect(await run.status() == 0)
        let lines = asJSON ? run.output : run.errors
        #expect(lines.count { $0.contains("subscription_refused") } == 3)
        for line in run.output + run.errors {
            #expect(HostileText.flaws(in: line) == [], "\(line.debugDescription)")
            #expect(!line.hasPrefix("2026-01-01") && !line.hasPrefix("forged"))
        }
        if asJSON { _ = try objects(run) }
        let signed = try #require(auth.split(separator: ":").last)
        #expect(!(run.output + run.errors).joined().contains(signed))
    }

    /// A stalled reader costs no memory, and learns what it missed.
    @Test func aFloodIsCutShortAndSaysSo() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "flood-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (script, pipe) = (folder.appending(path: "script.json").path, folder.appending(path: "pipe").path)
        let step = #"{"on":"connection","do":"publish","channel":"c","event":"flood","data":"x"}"#
        let steps = 15_000
        try Data("[\(Array(repeating: step, count: steps).joined(separator: ","))]".utf8).write(
            to: URL(filePath: script))
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDWR)
        defer { close(reader) }
        let run = try CommandRun(
            ["serve", "--port", "0", "--verbose", "--json", "--script", script] + Self.credentials,
            environment: Self.environment, outputFile: pipe)

        // Line by line, so that nothing more is read than needed.
        var line: [UInt8] = []
        func nextLine() throws -> [String: Any] {
            line = []
            var byte: UInt8 = 0
            while read(reader, &byte, 1) == 1, byte != 10 { line.append(byte) }
            return try #require(JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
        }
        let port = try #require(try nextLine()["port"] as? Int)
        let peer = try #require(SocketServer.Peer.connect(port: port))
        peer.write(
            "GET /app/k?protocol=7 HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        _ = peer.readHead()
        // The server answers while its output is blocked.
        try await api(port).trigger(event: "last", channels: ["c"], data: "x")
        var (told, omitted) = (0, 0)
        while case let object = try nextLine(), object["event"] as? String != "last" {
            if object["type"] as? String == "event" { told += 1 }
            if object["type"] as? String == "omitted" { omitted += try #require(object["count"] as? Int) }
        }
        #expect(told < steps && omitted > 0)
        #expect(told + omitted == steps)
        close(peer.descriptor)
        run.interrupt()
        #expect(await run.status() == 0)
    }

    @Test func aReaderThatLeavesEndsIt() async throws {
        let run = try CommandRun(
            ["serve", "--port", "0", "--verbose", "--json"] + Self.credentials, environment: Self.environment,
            closesOutput: true)
        #expect(await run.status() == 0)
    }

    // MARK: Requirements of other programs

    @Test func itTellsWhatAnotherProgramNeeds() async throws {
        let run = try CommandRun(["serve", "--port", "0"])
        #expect(await run.waitFor { $0.count == 6 })
        let port = try await port(of: run)
        let url = "http://app-key:app-secret@127.0.0.1:\(port)/apps/1"
        #expect(
            run.output == [
                "listening on 127.0.0.1:\(port)", "app id: 1", "key: app-key", "secret: app-secret",
                "encryption master key: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "PUSHER_URL=\(url)",
            ])
        // Another user's command, which cannot find the server by itself.
        let trigger = try CommandRun(["trigger", "c", "e", "x"], environment: ["PUSHER_URL": url])
        #expect(await trigger.status() == 0, "\(trigger.errors)")
        run.interrupt()
        #expect(await run.status() == 0)
    }

    @Test func theURLCanBeUsedWhateverTheNamesAre() async throws {
        let run = try CommandRun(
            ["serve", "--port", "0", "--json", "--app-id", "a-b", "--key", "my key:@%"], environment: Self.environment)
        #expect(await run.waitFor { !$0.isEmpty })
        let listening = try #require(try objects(run).first)
        #expect(listening["app_id"] as? String == "a-b" && listening["key"] as? String == "my key:@%")
        #expect(listening["secret"] == nil)
        let url = try #require(listening["url"] as? String)
        let trigger = try CommandRun(
            ["trigger", "c", "e", "x"], environment: ["PUSHER_URL": url, "PUSHER_SECRET": "s3cret"])
        #expect(await trigger.status() == 0, "\(trigger.errors)")
        run.interrupt()
        #expect(await run.status() == 0)
        #expect(!(run.output + run.errors).joined().contains("s3cret"))
    }

    @Test func anEncryptedChannelNeedsNoSetUp() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "serve-\(UUID())").path
        let environment = ["XDG_CONFIG_HOME": folder]
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let run = try CommandRun(["serve", "--port", "0"], environment: environment)
        #expect(await run.waitFor { !$0.isEmpty })
        let listener = try CommandRun(
            ["subscribe", "private-encrypted-x", "--count", "1", "--json"], environment: environment)
        #expect(await eventually { listener.errors.contains { $0.hasPrefix("listening to") } })
        let trigger = try CommandRun(["trigger", "private-encrypted-x", "e", "hidden"], environment: environment)
        #expect(await trigger.status() == 0, "\(trigger.errors)")
        #expect(await listener.status() == 0)
        #expect(listener.output.first?.contains("hidden") == true)
        run.interrupt()
        #expect(await run.status() == 0)
    }

    @Test func aMissingMasterKeyIsNamedWithItsOption() async throws {
        let server = try await PusherMockServer.start()
        let auth = try CommandRun(["auth-server", "--port", "0", "--key", "app-key", "--secret", "app-secret"])
        let authPort = try await port(of: auth)
        let endpoint = "http://127.0.0.1:\(authPort)/pusher/auth"
        let run = try CommandRun([
            "subscribe", "private-encrypted-x", "--no-tls", "--host", "127.0.0.1:\(server.port)", "--key", "app-key",
            "--auth-endpoint", endpoint, "--proxy", "",
        ])
        #expect(await run.status() != 0)
        #expect(run.errors.contains { $0.contains("shared_secret") && $0.contains("--encryption-master-key") })
        auth.interrupt()
        await server.stop()
    }

    // MARK: Descriptors

    @Test(arguments: [["serve"], ["auth-server", "--key", "k"]])
    func theLimitOfDescriptorsIsRaised(arguments: [String]) async throws {
        let run = try CommandRun(
            arguments + ["--port", "0"], environment: Self.environment, limits: "ulimit -Sn 96 && ulimit -Hn 512")
        _ = try await port(of: run)
        let limits = try String(contentsOfFile: "/proc/\(run.processID)/limits", encoding: .utf8)
        #expect(limits.contains(#/Max open files +512 +512 /#), "\(limits)")
        run.interrupt()
        #expect(await run.status() == 0)
    }

    /// When descriptors run out, connections wait at no cost to the server, and are served later.
    @Test(arguments: [["serve"], ["serve", "--verbose"], ["auth-server", "--key", "k"]])
    func connectionsWaitWhileDescriptorsAreUsedUp(arguments: [String]) async throws {
        let run = try CommandRun(
            arguments + ["--port", "0"], environment: Self.environment, limits: "ulimit -n 100")
        let port = try await port(of: run)
        var peers = (0..<150).compactMap { _ in SocketServer.Peer.connect(port: port) }
        defer { for peer in peers { close(peer.descriptor) } }
        #expect(peers.count == 150)
        let warning = "warning: new connections wait until others are closed: Too many open files (see ulimit -n)"
        #expect(await eventually { run.errors.contains(warning) }, "\(run.errors)")
        // A thread that retries in vain would not be found asleep this often.
        let times = Lock(0)
        #expect(
            await eventually {
                times.withLock { times in
                    times = Self.isAsleep(run.processID) ? times + 1 : 0
                    return times >= 20
                }
            })
        for peer in peers { close(peer.descriptor) }
        peers = []
        let peer = try #require(SocketServer.Peer.connect(port: port))
        peer.write("GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(String(decoding: peer.read(), as: UTF8.self).hasPrefix("HTTP/1.1 404 "))
        close(peer.descriptor)
        run.interrupt()
        #expect(await run.status() == 0)
        #expect(run.errors.count { $0 == warning } == 1)
        #expect(run.errors.count { $0.contains("accepting_paused") } == (arguments.contains("--verbose") ? 1 : 0))
    }

    /// Whether no thread of the process is running or runnable.
    private static func isAsleep(_ process: Int32) -> Bool {
        let folder = "/proc/\(process)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return !threads.isEmpty
            && threads.allSatisfy { thread in
                let text = try? String(contentsOfFile: "\(folder)/\(thread)/stat", encoding: .utf8)
                // The text after the name in parentheses, which may contain anything.
                return text?.split(separator: ")").last?.hasPrefix(" S") ?? true
            }
    }

    @Test(arguments: [
        ["serve", "--port", "0"], ["auth-server", "--port", "0", "--key", "k"], ["demo"],
        ["subscribe", "c", "--key", "k", "--host", "127.0.0.1:1", "--no-tls"],
        ["trigger", "c", "e", "x", "--app-id", "1", "--key", "k", "--host", "127.0.0.1:1", "--no-tls"],
    ])
    func tooFewDescriptorsAreSaidInWords(arguments: [String]) async throws {
        let run = try CommandRun(arguments, environment: Self.environment, limits: "ulimit -n 8")
        #expect(await run.status() == 69)
        #expect(run.errors == ["error: 64 file descriptors are needed, and the hard limit is 8 (ulimit -Hn)"])
    }

    // MARK: Scripts

    @Test(arguments: ["/dev/zero", "-"]) func aScriptWithoutEndIsRefused(path: String) async throws {
        let run = try CommandRun(
            ["serve", "--port", "0", "--script", path], redirection: path == "-" ? "</dev/zero" : "</dev/null")
        #expect(await run.status() == 65)
        let name = path == "-" ? "standard input" : path
        #expect(run.errors == ["error: \(name) is larger than the 16777216 bytes that are allowed"])
    }

    // MARK: Suggestions

    @Test func aCommandIsProposedAtATerminal() async throws {
        let run = try CommandRun(
            ["serve", "--port", "0", "--host", "0.0.0.0", "--key", "my key"],
            environment: Self.environment.merging(["PUSHER_HOST": "example.org"]) { $1 }, isAtTerminal: true)
        #expect(await run.waitFor { $0.contains { $0.contains("Try: ") } })
        let port = try #require(
            run.output.first { $0.hasPrefix("listening") }?.split(separator: ":").last.flatMap {
                Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
            })
        #expect(
            run.output.contains {
                $0.hasPrefix("Try: pusher-cli subscribe my-channel --host 127.0.0.1:\(port) --no-tls --key 'my key'")
            })
        try run.type("\u{3}")
        #expect(await run.status() != nil)
    }

    @Test func nothingIsProposedElsewhere() async throws {
        let run = try serve()
        _ = try await port(of: run)
        run.interrupt()
        #expect(await run.status() == 0)
        #expect(run.errors == [])
    }

    // MARK: Browsers

    @Test(arguments: ["serve", "auth-server"])
    func onlyItsOwnHostNamesAreSignedFor(name: String) async throws {
        let run = try CommandRun(
            [name, "--port", "0", "--key", "k", "--allow-host", "pusher.test"], environment: Self.environment)
        let port = try await port(of: run)
        for (host, status) in [
            ("localhost:\(port)", 200), ("127.0.0.1:\(port)", 200), ("pusher.test:\(port)", 200),
            ("evil.example:\(port)", 403),
        ] {
            let peer = try #require(SocketServer.Peer.connect(port: port))
            let body = "socket_id=1.2&channel_name=private-x"
            peer.write(
                "POST /pusher/auth HTTP/1.1\r\nHost: \(host)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            let answer = String(decoding: peer.read(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(host)")
            #expect(answer.contains("k:") == (status == 200))
            close(peer.descriptor)
        }
        run.interrupt()
        #expect(await run.status() == 0)
    }

    @Test(arguments: ["serve", "auth-server"], ["http://a", "a:80", "", "a b", "\u{1B}[2J"])
    func whatIsNoHostIsStatus64(name: String, host: String) async throws {
        let run = try CommandRun([name, "--port", "0", "--allow-host", host], environment: Self.environment)
        #expect(await run.status() == 64)
        #expect(run.errors.contains { $0.contains("--allow-host must be a host name without a port") })
        for line in run.errors { #expect(HostileText.flaws(in: line) == []) }
    }

    @Test(arguments: ["serve", "auth-server"])
    func aPageOfAnAllowedOriginMayUseTheAuthEndpoints(name: String) async throws {
        let run = try CommandRun(
            [
                name, "--port", "0", "--key", "k", "--allow-origin", "http://localhost:3000", "--allow-origin",
                "https://b",
            ],
            environment: Self.environment)
        let port = try await port(of: run)
        for (origin, allowed) in [
            ("http://localhost:3000", "http://localhost:3000"), ("https://b", "https://b"), ("https://c", nil),
        ] as [(String, String?)] {
            var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)/pusher/auth")))
            request.httpMethod = "OPTIONS"
            request.setValue(origin, forHTTPHeaderField: "Origin")
            request.setValue("POST", forHTTPHeaderField: "Access-Control-Request-Method")
            let response = try await URLSession.shared.data(for: request).1 as? HTTPURLResponse
            #expect(response?.statusCode == 204)
            #expect(response?.value(forHTTPHeaderField: "Access-Control-Allow-Origin") == allowed)
            #expect(response?.value(forHTTPHeaderField: "Vary") == "Origin")
        }
        run.interrupt()
        #expect(await run.status() == 0)
    }

    @Test(
        arguments: ["serve", "auth-server"],
        ["localhost:3000", "http://a/", "null", "http://a\r\nX: y", "", "http://\u{1B}[2J"])
    func whatIsNoOriginIsStatus64(name: String, origin: String) async throws {
        let run = try CommandRun([name, "--port", "0", "--allow-origin", origin], environment: Self.environment)
        #expect(await run.status() == 64)
        #expect(run.output == [])
        #expect(run.errors.contains { $0.contains("--allow-origin must be scheme://host or scheme://host:port") })
        for line in run.errors { #expect(HostileText.flaws(in: line) == []) }
    }

    // MARK: Failures to start

    /// Expects nothing about the library, system calls or error numbers.
    private func expectForPeople(_ run: CommandRun, sourceLocation: SourceLocation = #_sourceLocation) {
        let text = run.errors.joined(separator: "\n")
        for word in ["errno", "bind(", "failedTo", "NIO", "Error.", "PusherMockServer", "Optional("] {
            #expect(!text.contains(word), "\(text)", sourceLocation: sourceLocation)
        }
        #expect(run.errors.count == 1 && run.output == [], sourceLocation: sourceLocation)
    }

    @Test(arguments: ["serve", "auth-server"])
    func aUsedPortIsStatus69(name: String) async throws {
        let server = try await PusherMockServer.start()
        let run = try CommandRun([name, "--port", "\(server.port)", "--key", "k"], environment: Self.environment)
        #expect(await run.status() == 69)
        #expect(
            run.errors == [
                "error: cannot listen on 127.0.0.1:\(server.port): another program uses this port; choose another one "
                    + "with --port; --port 0 takes any free one"
            ])
        expectForPeople(run)
        await server.stop()
    }

    @Test(arguments: [("192.0.2.1", "this machine does not have"), ("no.such.host.invalid", "no address is known")])
    func aForeignAddressIsStatus69(host: String, words: String) async throws {
        let run = try CommandRun(["serve", "--host", host, "--key", "k"], environment: Self.environment)
        #expect(await run.status() == 69)
        #expect(run.errors.first?.contains(words) == true && run.errors.first?.contains("with --host") == true)
        expectForPeople(run)
    }

    /// As root without the capability, or as any unprivileged user.
    @Test(
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") || geteuid() != 0,
            "root needs setpriv"))
    func aPrivilegedPortIsStatus69() async throws {
        let first = try String(contentsOfFile: "/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding: .utf8)
        guard let first = Int(first.trimmingCharacters(in: .whitespacesAndNewlines)), first > 80 else { return }
        let run = try CommandRun(
            ["serve", "--port", "80", "--key", "k"], environment: Self.environment, lacksPrivileges: true)
        #expect(await run.status() == 69)
        #expect(run.errors.first?.contains("only privileged programs may use this port") == true)
        #expect(run.errors.first?.contains("--port 0 takes any free one") == true)
        expectForPeople(run)
    }

    @Test(.enabled(if: PusherMockServer.speaksTLS, "needs the trait MockServerTLS"))
    func wrongFilesAreStatus65AndNamed() async throws {
        let authority = try await CertificateAuthority()
        let leaf = try await authority.issue("DNS:localhost")
        let other = try await authority.issue("DNS:localhost")
        for (certificate, privateKey, file, option) in [
            ("/nowhere.pem", leaf.privateKey, "/nowhere.pem", "--certificate"),
            (leaf.privateKey, leaf.privateKey, leaf.privateKey, "--certificate"),
            (leaf.certificate, "/nowhere.key", "/nowhere.key", "--private-key"),
            (leaf.certificate, leaf.certificate, leaf.certificate, "--private-key"),
            (leaf.certificate, other.privateKey, other.privateKey, "--private-key"),
        ] {
            let run = try CommandRun(
                ["serve", "--port", "0", "--key", "k", "--certificate", certificate, "--private-key", privateKey],
                environment: Self.environment)
            #expect(await run.status() == 65)
            #expect(run.errors.first?.contains(file) == true)
            #expect(run.errors.first?.contains("; \(option) takes a PEM file") == true, "\(run.errors)")
            expectForPeople(run)
        }
    }
}
