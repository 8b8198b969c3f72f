import Basics
import Foundation
import JSONBytes
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing

/// Parts of the chat beyond a single room: accounts, drafts, the user's programs, settings.
extension ScreenCommandTests {
    private func lobby(_ timeline: String...) -> String { MatrixScene.room(name: "Lobby", timeline: timeline) }

    private func shell(_ scene: MatrixScene, _ name: String, _ lines: String) throws -> String {
        let file = scene.home.appending(path: name)
        try Data("#!/bin/sh\n\(lines)\n".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: file.path)
        return file.path
    }

    @Test(arguments: [SIGTERM, SIGQUIT]) func aTerminalThatNobodyReadsKeepsNoChat(number: Int32) async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(lobby(MatrixScene.message("$old", "before")))
        let run = try chat(scene, isRead: false)
        #expect(await eventually { scene.server.requests("GET", "v3/sync").count > 1 })
        for number in 1...20 { scene.bring(MatrixScene.room(timeline: [MatrixScene.message("$\(number)", "unseen")])) }
        await endsUnread(run, by: number)
    }

    // MARK: Hostile homeservers

    /// The status shows the end of the wait; the user may retry earlier.
    @Test func aServerThatAsksForAnHourIsAskedAgainByTheUser() async throws {
        let scene = try await MatrixScene()
        let isLimited = Lock(true)
        let first = lobby(MatrixScene.message("$old", "before"))
        scene.server.on("GET", "v3/sync") { request in
            if isLimited.withLock({ $0 }) {
                let error = #"{"errcode":"M_LIMIT_EXCEEDED","error":"Too Many Requests","retry_after_ms":3600000}"#
                return .json(error, status: 429)
            }
            guard let since = request.parameter("since") else { return .json(#"{"next_batch":"1"\#(first)}"#) }
            return .json(#"{"next_batch":"\#(since)"}"#).after(.milliseconds(30))
        }
        let run = try chat(scene, columns: 160)
        #expect(await run.shows("limits how often it is asked. Trying again at "))
        #expect(run.screen.lines.contains { $0.contains("/reconnect tries now") })
        try run.type("/reconnect\r")
        #expect(await scene.server.hasBeenAsked("GET", "v3/sync", times: 2))
        #expect(await run.shows("limits how often it is asked. Trying again at "))
        isLimited.withLock { $0 = false }
        try run.type("/reconnect\r")
        #expect(await run.shows("before"))
        #expect(await run.shows { !$0.lines.contains { $0.contains("limits how often") } })
        isLimited.withLock { $0 = true }
        #expect(await run.shows("limits how often it is asked. Trying again at "))
        isLimited.withLock { $0 = false }
        try run.type("still here\r")
        #expect(await run.shows { !$0.lines.contains { $0.contains("limits how often") } })
        run.signal(SIGTERM)
        #expect(await run.status() == 0)
    }

    private static let faults: [(String, FakeAnswer)] = [
        ("nothing", FakeAnswer()), ("no object", .json("[]")), ("an empty object", .json("{}")),
        ("cut off", .json(#"{"next_batch":"#)), ("no text", FakeAnswer(body: [0xFF, 0, 0x1B])),
        ("a proxy's page", .page(502)), ("dropped", .drop),
        ("cut by the connection", .json(#"{"next_batch":"2","rooms":{}}"#).with(.cut(after: 9))),
        ("an empty error", FakeAnswer(status: 500)),
        ("elsewhere", .redirect(to: "http://127.0.0.1:1/")), ("deep", .json(String(repeating: "[", count: 200_000))),
    ]

    /// Whatever arrives, the chat reports it, accepts keys, and continues once all is well.
    @Test(arguments: ScreenCommandTests.faults.indices) func aSyncThatIsWrongEndsNothing(index: Int) async throws {
        let scene = try await MatrixScene()
        let isFaulty = Lock(false)
        let first = lobby(MatrixScene.message("$old", "before"))
        let later = MatrixScene.room(timeline: [MatrixScene.message("$new", "all is well")])
        scene.server.on("GET", "v3/sync") { request in
            if isFaulty.withLock({ $0 }) { return Self.faults[index].1 }
            switch request.parameter("since") {
            case nil: return .json(#"{"next_batch":"1"\#(first)}"#)
            case "1": return .json(#"{"next_batch":"1"}"#).after(.milliseconds(30))
            case _?: return .json(#"{"next_batch":"3"}"#).after(.milliseconds(30))
            }
        }
        let run = try chat(scene)
        #expect(await run.shows("before"))
        isFaulty.withLock { $0 = true }
        #expect(
            await run.shows { $0.lines.contains { $0.contains("cannot be reached") || $0.contains("with an error") } })
        try run.type("still typing")
        #expect(await run.shows("still typing"))
        scene.server.on("GET", "v3/sync") { request in
            request.parameter("since") == "1"
                ? .json(#"{"next_batch":"2"\#(later)}"#) : .json(#"{"next_batch":"3"}"#).after(.milliseconds(30))
        }
        try run.type("\u{15}/reconnect\r")
        #expect(await run.shows("all is well"))
        #expect(run.screen.strange == [])
        try run.type("\u{3}\u{3}")
        #expect(await run.status() == 0)
        #expect(await hasLeft(run))
    }

    @Test(arguments: [true, false]) func aLoginThatHasEndedIsSaid_andTheChatIsLeftByKeys(isSoft: Bool) async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(lobby(MatrixScene.message("$old", "before")))
        let run = try chat(scene)
        #expect(await run.shows("before"))
        scene.server.on("GET", "v3/sync", .unknownToken(softLogout: isSoft))
        #expect(await run.shows("This login has ended."))
        try run.type("/reconnect\r")
        try run.type("lost\r")
        #expect(await run.shows("This login has ended."))
        try run.type("\u{3}\u{3}")
        #expect(await run.status() == 0)
        #expect(await hasLeft(run))
    }

    // MARK: Accounts

    /// Adds a second login on the same homeserver.
    private func addBob(to scene: MatrixScene) async throws {
        scene.server.on("GET", "v3/login", .json(#"{"flows":[{"type":"m.login.password"}]}"#))
        scene.server.on(
            "POST", "v3/login", .json(#"{"user_id":"@bob:hs","access_token":"token_of_bob","device_id":"BOBDEVICE"}"#))
        let (status, run) = try await scene.matrix(
            "login", scene.server.address, "--user", "bob", "--add", "--password-stdin", input: "secret\n")
        #expect(status == 0, "\(run.errors)")
    }

    @Test func oneMoreAccountIsLoggedIn_shown_andLoggedOut() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(lobby(MatrixScene.message("$old", "before")))
        scene.server.on("POST", "v3/logout", .ok)
        try await addBob(to: scene)
        let file = scene.home.appending(path: "pusher-cli/matrix-%40bob%3Ahs.json")
        #expect(try scene.mode(of: file) == 0o600)
        let again = try await scene.matrix("login", scene.server.address, "--user", "bob", "--add")
        #expect(again.status == 77)
        #expect(
            again.run.errors == [
                "error: @bob:hs is already logged in, with \(file.path): to log in anew, log out first, with "
                    + "pusher-cli matrix logout --user @bob:hs"
            ])
        let run = try chat(scene)
        #expect(await run.shows("@alice:hs"))
        #expect(await run.shows("@bob:hs"))
        #expect(
            await eventually {
                Set(scene.server.requests("GET", "v3/sync").map { $0.token }).count == 2
            })
        try run.type("/account bob\r")
        try run.type("/logout\r")
        #expect(await run.shows("@bob:hs is logged out here"))
        try run.type("\u{1B}[B\r")
        #expect(await run.shows("@bob:hs is logged out."))
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(await run.shows { !$0.lines.contains { $0.hasPrefix("@bob:hs ") } })
        try run.type("\u{3}\u{3}")
        #expect(await run.status() == 0)
        #expect(FileManager.default.fileExists(atPath: scene.file.path))
    }

    @Test func anAccountThatAnotherProcessHasIsNamed_andTheOthersWork() async throws {
        let scene = try await MatrixScene()
        let encryption = #"""
            {"type":"m.room.encryption","state_key":"","event_id":"$e","sender":"@bob:hs",
            "content":{"algorithm":"m.megolm.v1.aes-sha2"}}
            """#
        scene.syncsBegin(lobby(encryption, MatrixScene.message("$old", "before")))
        for path in ["v3/keys/upload", "v3/keys/query", "v3/keys/claim"] { scene.server.on("POST", path, .json("{}")) }
        try await addBob(to: scene)
        let first = try chat(scene, "--user", "bob")
        #expect(await first.shows("before"))
        #expect(await eventually { !scene.server.requests("POST", "v3/keys/upload").isEmpty })
        let second = try chat(scene)
        #expect(await second.shows { $0.lines.contains { $0.contains("@bob:hs: in use by process") } })
        #expect(await second.shows("before"))
        try first.type("\u{3}\u{3}")
        #expect(await first.status() == 0)
        try second.type("/account bob\r")
        #expect(await second.shows { !$0.lines.contains { $0.contains("in use by") } })
        try second.type("\u{3}\u{3}")
        #expect(await second.status() == 0)
        #expect(try await scene.matrix("chat", "--user", "carol", "x").status == 77)
    }

    // MARK: Drafts

    @Test func aKilledChatHasKeptWhatWasWritten() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(lobby(MatrixScene.message("$old", "before")))
        let first = try chat(scene)
        #expect(await first.shows("before"))
        try first.type("half a thought")
        let file = scene.home.appending(path: ".local/state/pusher-cli/matrix-drafts.json")
        #expect(
            await eventually { (try? String(contentsOf: file, encoding: .utf8))?.contains("half a thought") == true })
        first.signal(SIGKILL)
        _ = await first.status()
        let second = try chat(scene)
        #expect(await second.shows("half a thought"))
        second.signal(SIGTERM)
        #expect(await second.status() == 0)
    }

    // MARK: Remaining files

    /// A killed process could not delete its decrypted files.
    @Test func whatAKilledChatHasDecryptedIsGoneWithTheNext() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(lobby(MatrixScene.message("$old", "before")))
        let (dead, live) = ("tmp/matrixkit-clear-dead", "tmp/matrixkit-clear-live")
        for folder in [dead, live].map({ scene.home.appending(path: $0) }) {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("secret".utf8).write(to: folder.appending(path: "plan.png"))
        }
        let lock = try FileLock(folder: scene.home.appending(path: live).path)
        let run = try chat(scene, environment: ["TMPDIR": scene.home.appending(path: "tmp").path])
        #expect(await run.shows("before"))
        let parent = scene.home.appending(path: "tmp").path
        #expect(
            await eventually {
                (try? FileManager.default.contentsOfDirectory(atPath: parent)) == ["matrixkit-clear-live"]
            })
        withExtendedLifetime(lock) {}
        run.signal(SIGTERM)
        #expect(await run.status() == 0)
    }

    // MARK: The user's programs

    @Test func theEditorHasTheTerminal_andGivesItBack() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(lobby(MatrixScene.message("$old", "before")))
        let editor = try shell(
            scene, "editor",
            #"test -t 0 && test -t 1 && printf 'editing now\n' && read line && printf ' and %s\n' "$line" >> "$2""#)
        let run = try chat(scene, environment: ["EDITOR": "\(editor) -x", "VISUAL": ""])
        #expect(await run.shows("before"))
        try run.type("some")
        try run.type("\u{5}")
        #expect(await run.shows("editing now"))
        #expect(await run.shows { !$0.modes.contains(1049) })
        try run.type("more\r")
        #expect(await run.shows { $0.modes.contains(1049) && $0.lines.contains { $0.contains("and more") } })
        #expect(await run.shows("before"))
        run.signal(SIGTERM)
        #expect(await run.status() == 0)
        #expect(await hasLeft(run))
    }

    @Test func aLinkIsOneArgumentOfTheBrowser() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(lobby(MatrixScene.message("$old", "see https://example.org/?a=1;touch$IFS/x&b='2'")))
        let seen = scene.home.appending(path: "seen")
        let browser = try shell(scene, "browser", "printf '%s|' \"$#\" \"$1\" > '\(seen.path)'")
        let run = try chat(scene, environment: ["BROWSER": browser])
        #expect(await run.shows("https://example.org"))
        try run.type("/links\r")
        #expect(await run.shows("[1]"))
        try run.type("\r")
        #expect(
            await eventually {
                (try? String(contentsOf: seen, encoding: .utf8))?.hasPrefix("1|https://example.org/?a=1") == true
            })
        run.signal(SIGTERM)
        #expect(await run.status() == 0)
    }

    // MARK: Settings

    @Test func wrongKeysNameTheirLine_andSettingsStay() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(lobby(MatrixScene.message("$old", "before")))
        let file = scene.home.appending(path: "matrixkit/chat.conf")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("key help = ctrl-c\n".utf8).write(to: file)
        let run = try chat(scene)
        #expect(await run.shows("before"))
        #expect(await scene.server.hasBeenAsked("GET", "v3/sync", times: 5))
        #expect(await run.shows("chat.conf: line 1: ctrl-c cannot be changed"))
        try run.type("/toggle members\r")
        #expect(
            await eventually { (try? String(contentsOf: file, encoding: .utf8))?.hasSuffix("members = off\n") == true })
        run.signal(SIGTERM)
        #expect(await run.status() == 0)
    }
}
