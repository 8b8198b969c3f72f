import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

/// `pusher-cli` with a real homeserver, and matrix-nio on the other side.
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(2)))
struct CommandOnHomeserverTests {
    static let command = ".build/debug/pusher-cli"
    private static let pusher = ["--key", "app-key", "--no-tls", "--host", "127.0.0.1", "--port"]

    /// Logs in like `matrix login`.
    private func logIn(_ user: Homeserver.User, at homeserver: Homeserver) async throws -> URL {
        let client = MXRestClient(homeServer: try #require(URL(string: homeserver.url)))
        let credentials = try await client.login(parameters: [
            "type": "m.login.password", "identifier": ["type": "m.id.user", "user": user.name],
            "password": user.password, "refresh_token": false,
        ])
        #expect(credentials.refreshToken == nil)
        let home = FileManager.default.temporaryDirectory.appending(path: "matrix-\(UUID().uuidString)")
        let file = home.appending(path: "pusher-cli/matrix.json")
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try JSONEncoder().encode(credentials).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        return home
    }

    @Test func listenPrintsAPusherEventAndAMessageOfMatrixNio() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, bob) = (try await homeserver.newUser("ann"), try await homeserver.newUser("bob"))
        let home = try await logIn(ann, at: homeserver)
        defer { try? FileManager.default.removeItem(at: home) }
        func run(_ arguments: String...) -> Program {
            Program(Self.command, arguments, environment: ["XDG_CONFIG_HOME": home.path, "XDG_DATA_HOME": home.path])
        }
        let created = try await homeserver.peer(bob, "create", "--name", "Lobby", "--invite", ann.id).run()
        let room = try #require(created.objects.first?["room_id"] as? String)
        #expect(try await run("matrix", "join", "Lobby").run().output == [room])
        let sent = try await run("matrix", "send", "lobby", "hello **all**").run()
        #expect(sent.status == 0)

        let server = run("serve", "--port", "0")
        try server.start()
        #expect(await eventually { !server.output.isEmpty })
        let port = try #require(server.output.first?.split(separator: ":").last.map(String.init))
        let listener = Program(
            Self.command,
            ["listen", "prices", "--matrix", "--notifications", "--json", "--count", "2"] + Self.pusher + [port],
            environment: ["XDG_CONFIG_HOME": home.path, "XDG_DATA_HOME": home.path])
        try listener.start()
        #expect(await listener.waitFor { $0["to"] as? String == "running" })
        #expect(await listener.waitFor { $0["type"] as? String == "subscribed" })
        let trigger = Program(
            Self.command,
            ["trigger", "prices", "price", "42", "--app-id", "1", "--secret", "app-secret"] + Self.pusher + [port])
        #expect(try await trigger.run().status == 0)
        let told = try await homeserver.peer(bob, "send", room, "good morning").run()
        let run = try await listener.end()
        #expect(run.status == 0)
        let events = run.objects.filter { $0["type"] as? String == "event" }
        #expect(Set(events.compactMap { $0["channel"] as? String }) == ["prices", "matrix:\(room)"])
        let message = try #require(events.first { $0["room_id"] != nil })
        #expect(message["event_id"] as? String == told.objects.first?["event_id"] as? String)
        #expect(message["sender"] as? String == bob.id)
        #expect(message["notify"] as? Bool == true)

        let history = try await Program(
            Self.command, ["matrix", "messages", room, "--json"],
            environment: ["XDG_CONFIG_HOME": home.path, "XDG_DATA_HOME": home.path]
        ).run()
        #expect(
            history.objects.map { $0["event_id"] as? String } == [
                sent.output.first, told.objects.first?["event_id"] as? String,
            ])
    }

    @Test func theCommandJustWorksInAnEncryptedRoom() async throws {
        let homeserver = try Homeserver(.plain)
        let ann = try await CommandUser("ann", on: homeserver)
        let nio = try await EncryptedPeer("nio", on: homeserver)
        let home = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: home) }
        let room = try #require(try await nio.perform("create", "Vault", ann.user.id)["room_id"])
        #expect(try await ann.output("join", room) == [room])
        let id = try #require(try await ann.output("send", "Vault", "hello nio").first)
        #expect(await nio.hears(id, "hello nio"))
        let theirs = try await nio.send("hello ann", to: room)
        let messages = try await ann.output("messages", "Vault")
        #expect(messages.contains { $0.contains("hello nio") } && messages.contains { $0.contains("hello ann") })
        let answer = try #require(try await ann.output("send", "Vault", "yes", "--reply-to", theirs).first)
        #expect(await nio.hears(answer, "yes"))

        let file = home.appending(path: "plan.bin")
        let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 17) })
        try bytes.write(to: file)
        let uploaded = try #require(try await ann.output("upload", file.path, "--room", "Vault").first)
        #expect(await nio.hears(uploaded, "plan.bin"))
        let copy = home.appending(path: "copy.bin")
        try await nio.perform("download", uploaded, copy.path)
        #expect(try Data(contentsOf: copy) == bytes)
        let theirFile = try #require(try await nio.perform("upload", room, file.path)["event_id"])
        let ours = home.appending(path: "ours.bin")
        #expect(try await ann.output("download", theirFile, ours.path, "--room", "Vault") == [ours.path])
        #expect(try Data(contentsOf: ours) == bytes)

        let listener = ann.command("listen", "--room", "Vault", "--json", "--count", "3", "--no-catch-up")
        try listener.start()
        #expect(await listener.waitFor { $0["to"] as? String == "running" })
        // The commands beside it ask it for its keys.
        let beside = try #require(try await ann.output("send", "Vault", "beside", "--reply-to", theirs).first)
        #expect(await nio.hears(beside, "beside"))
        #expect(try await ann.output("messages", "Vault").contains { $0.contains("hello ann") })
        let second = try #require(try await ann.output("upload", file.path, "--room", "Vault").first)
        #expect(await nio.hears(second, "plan.bin"))
        let last = try await nio.send("while you listen", to: room)
        #expect(
            await listener.waitFor {
                $0["event"] as? String == "m.room.message"
                    && ($0["data"] as? String)?.contains("while you listen") == true
            })
        #expect(try await listener.end().status == 0, "\(last)")
    }
}
