import Foundation
import FoundationNetworking
import JSONBytes
import MatrixProtocol
import MatrixTestSupport
import TestSupport
import Testing

/// `matrix login` and `logout`, and their shared file.
@Suite(.overSockets)
struct MatrixLoginTests {
    private static let password = "correct horse battery staple"

    private func scene() async throws -> MatrixScene {
        let scene = try await MatrixScene(isLoggedIn: false)
        scene.server.on(
            "GET", "v3/login", .json(#"{"flows":[{"type":"m.login.password"},{"type":"m.login.sso"}]}"#))
        scene.server.on("POST", "v3/login") { request in
            let isRight =
                request.json?["password"]?.string == Self.password || request.json?["token"]?.string == "login-token"
            return isRight
                ? .json(
                    #"{"user_id":"\#(MatrixScene.user)","device_id":"DEVICE","access_token":"\#(MatrixScene.token)"}"#)
                : .error(403, "M_FORBIDDEN")
        }
        scene.server.on("POST", "v3/logout", .ok)
        return scene
    }

    private func login(_ scene: MatrixScene, _ options: String..., input: String) async throws -> (
        status: Int32?, run: CommandRun
    ) {
        let run = try scene.run(["matrix", "login", scene.server.address] + options, input: input)
        return (await run.status(), run)
    }

    @Test(arguments: ["\n", "", "\r\n"])
    func aPasswordFromStandardInputLogsIn_andTheTokenIsForItsOwnerAlone(end: String) async throws {
        let scene = try await scene()
        let (status, run) = try await login(
            scene, "--user", "alice", "--password-stdin", input: Self.password + end)
        #expect(status == 0)
        #expect(run.output == ["logged in as @alice:hs on \(scene.server.address), device DEVICE"])
        #expect(try scene.mode(of: scene.file) == 0o600)
        #expect(try scene.mode(of: scene.file.deletingLastPathComponent()) == 0o700)
        let body = try #require(scene.server.requests("POST", "v3/login").first?.json)
        #expect(body["refresh_token"]?.bool == false)
        #expect(body["identifier"]?["user"]?.string == "alice")
        #expect(!run.words.contains(MatrixScene.token))
        #expect(!run.words.contains(Self.password))
        #expect(try String(contentsOf: scene.file, encoding: .utf8).contains(MatrixScene.token))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scene.file.deletingLastPathComponent().path).count == 1)

        let again = try await login(scene, "--user", "alice", "--password-stdin", input: Self.password)
        #expect(again.status == 77)
        #expect(again.run.errors.contains { $0.contains("log out first") })
    }

    @Test func anotherUser_andAnotherServer_areNamed() async throws {
        let (scene, other) = (try await scene(), try await MatrixScene(isLoggedIn: false))
        let moved = other.server.address
        scene.server.on(
            "POST", "v3/login",
            .json(
                #"{"user_id":"@alice:hs","device_id":"D","access_token":"t","well_known":{"m.homeserver":{"base_url":"\#(moved)"}}}"#
            ))
        let (status, run) = try await login(scene, "--user", "bob", "--password-stdin", input: Self.password)
        #expect(status == 0)
        let warnings = run.errors.filter { $0.hasPrefix("warning: ") }
        #expect(warnings.contains { $0.contains("logged in @alice:hs instead of bob") }, "\(run.errors)")
        #expect(warnings.contains { $0.contains(scene.server.address) && $0.contains(moved) }, "\(run.errors)")
        #expect(run.output == ["logged in as @alice:hs on \(moved), device D"])
    }

    @Test func aFolderThatOthersCouldReadIsClosed() async throws {
        let scene = try await scene()
        let folder = scene.file.deletingLastPathComponent()
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        #expect(try await login(scene, "--user", "alice", "--password-stdin", input: Self.password).status == 0)
        #expect(try scene.mode(of: folder) == 0o700)
    }

    @Test func thePasswordIsNowhereInTheProcessList() async throws {
        let scene = try await scene()
        scene.server.on("POST", "v3/login", .silence)
        let run = try scene.run(
            ["matrix", "login", scene.server.address, "--user", "alice", "--password-stdin"], input: Self.password)
        #expect(await scene.server.hasBeenAsked("POST", "v3/login"))
        #expect(run.listing.contains("--password-stdin"))
        #expect(!run.listing.contains(Self.password))
        run.interrupt()
        #expect(await run.status() == 130)  // not the status of success
        #expect(!FileManager.default.fileExists(atPath: scene.file.path))
    }

    @Test func atATerminalThePasswordIsAskedFor_andNotShown() async throws {
        let scene = try await scene()
        let arguments = ["matrix", "login", scene.server.address, "--user", "alice"]
        let environment = ["XDG_CONFIG_HOME": scene.home.path]
        let abandoned = try CommandRun(arguments, environment: environment, isAtTerminal: true)
        #expect(await abandoned.waitFor { $0.contains { $0.hasPrefix("Password of alice: ") } })
        try abandoned.type("corr\u{3}")
        #expect(await abandoned.status() == 130)
        let run = try CommandRun(arguments, environment: environment, isAtTerminal: true)
        #expect(await run.waitFor { $0.contains { $0.hasPrefix("Password of alice: ") } })
        try run.type("wrong\u{15}x\u{7F}" + Self.password + "ü\u{7F}\n")
        #expect(await run.status() == 0)
        #expect(run.words.contains("logged in as @alice:hs"))
        #expect(!run.words.contains("horse"))
        #expect(scene.server.requests("POST", "v3/login").count == 1)
    }

    @Test func whatIsRefusedIsSaid_andNothingIsKept() async throws {
        let scene = try await scene()
        let wrong = try await login(scene, "--user", "alice", "--password-stdin", input: "wrong")
        #expect(wrong.status == 77)
        #expect(wrong.run.errors == ["error: said by the server (M_FORBIDDEN)"])
        #expect(try await login(scene, "--user", "alice", "--password-stdin", input: "").status == 65)
        scene.server.on("GET", "v3/login", .json(#"{"flows":[{"type":"m.login.sso"}]}"#))
        let noPasswords = try await login(scene, "--user", "alice", "--password-stdin", input: Self.password)
        #expect(noPasswords.status == 77)
        #expect(noPasswords.run.errors == ["error: the homeserver does not accept passwords: use --sso"])
        #expect(!FileManager.default.fileExists(atPath: scene.file.path))
    }

    @Test func aServerThatIsNoneIsStatus69() async throws {
        let scene = try await scene()
        let gone = try await scene.matrix(
            "login", "http://127.0.0.1:1", "--user", "alice", "--password-stdin", input: Self.password)
        #expect(gone.status == 69)
        scene.server.on("GET", "versions", .page(404))
        let other = try await login(scene, "--user", "alice", "--password-stdin", input: Self.password)
        #expect(other.status == 69)
        let undiscovered = try await scene.matrix(
            "login", "@alice:127.0.0.1:1", "--password-stdin", input: Self.password)
        #expect(undiscovered.status == 69)
        #expect(undiscovered.run.errors.contains { $0.contains("--homeserver") })
        #expect(scene.server.requests("POST", "v3/login").isEmpty)
    }

    @Test func aUserIdAndTheAddressOfItsHomeserverGoTogether() async throws {
        let scene = try await scene()
        let (status, _) = try await scene.matrix(
            "login", "@alice:hs", "--homeserver", scene.server.address, "--password-stdin", input: Self.password)
        #expect(status == 0)
        #expect(
            scene.server.requests("POST", "v3/login").first?.json?["identifier"]?["user"]?.string == "@alice:hs")
    }

    @Test func whereNothingCanBeKeptNobodyLogsIn() async throws {
        let scene = try await scene()
        let run = try CommandRun(
            ["matrix", "login", scene.server.address, "--user", "alice", "--password-stdin"],
            environment: ["XDG_CONFIG_HOME": "/dev/null"], input: Self.password)
        #expect(await run.status() == 65)
        #expect(run.errors.last?.contains("matrix.json cannot be read: Not a directory") == true)
        #expect(scene.server.requests("POST", "v3/login").isEmpty)
    }

    @Test func anAccessTokenIsCheckedAndKept() async throws {
        let scene = try await scene()
        scene.server.on("GET", "v3/account/whoami") { request in
            request.token == MatrixScene.token
                ? .json(#"{"user_id":"@alice:hs","device_id":"D"}"#) : .unknownToken(softLogout: false)
        }
        #expect(try await login(scene, "--token-stdin", input: "nonsense\n").status == 77)
        let (status, run) = try await login(scene, "--token-stdin", input: MatrixScene.token + "\n")
        #expect(status == 0)
        #expect(run.output == ["logged in as @alice:hs on \(scene.server.address), device D"])
        #expect(try scene.mode(of: scene.file) == 0o600)
        try FileManager.default.removeItem(at: scene.file)
        let other = try await scene.matrix(
            "login", "@bob:hs", "--homeserver", scene.server.address, "--token-stdin", input: MatrixScene.token)
        #expect(other.status == 77)
        #expect(other.run.errors == ["error: the token belongs to another user: @alice:hs"])
    }

    @Test func aBrowserBringsTheToken_toASecretAddressOnly() async throws {
        let scene = try await scene()
        let run = try scene.run(["matrix", "login", scene.server.address, "--sso"])
        #expect(await run.waitFor { $0.first?.hasPrefix("open http") == true })
        let page = try #require(URLComponents(string: String(run.output.first?.dropFirst(5) ?? "")))
        let redirect = try #require(page.queryItems?.first { $0.name == "redirectUrl" }?.value)
        #expect(redirect.hasPrefix("http://127.0.0.1:"))
        func visit(_ address: String) async throws -> Int? {
            let (_, response) = try await URLSession.shared.data(from: try #require(URL(string: address)))
            return (response as? HTTPURLResponse)?.statusCode
        }
        let root = try #require(redirect.range(of: "/", options: .backwards))
        #expect(try await visit(redirect[..<root.lowerBound] + "/?loginToken=evil") == 404)
        #expect(try await visit(redirect) == 404)
        #expect(try await visit(redirect + "?loginToken=login-token") == 200)
        #expect(await run.status() == 0)
        let body = try #require(scene.server.requests("POST", "v3/login").first?.json)
        #expect(body["type"]?.string == "m.login.token")
        #expect(body["refresh_token"]?.bool == false)
        #expect(FileManager.default.fileExists(atPath: scene.file.path))
        #expect(!run.words.contains("login-token"))
    }

    @Test(arguments: [
        ["login"], ["login", "https://hs"], ["login", "@alice"], ["login", "ftp://hs", "--user", "a"],
        ["login", "@alice:hs", "--user", "bob"], ["login", "https://hs", "--user", "a", "--sso", "--token-stdin"],
        ["login", "https://hs", "--user", "a", "--identity-provider", "x"], ["nonsense"],
    ])
    func wrongUseIsStatus64(arguments: [String]) async throws {
        let run = try CommandRun(["matrix"] + arguments)
        #expect(await run.status() == 64)
        #expect(run.output == [])
    }

    // MARK: Logging out

    @Test func loggingOutMakesTheTokenWorthlessAndDeletesIt() async throws {
        let scene = try await MatrixScene()
        scene.server.on("POST", "v3/logout", .ok)
        #expect(try await scene.matrix("logout").status == 0)
        #expect(scene.server.requests("POST", "v3/logout").first?.token == MatrixScene.token)
        #expect(!FileManager.default.fileExists(atPath: scene.file.path))
        #expect(try await scene.matrix("logout").status == 77)
    }

    @Test func aDeadTokenIsDeleted_butOneThatCannotBeEndedStays() async throws {
        let scene = try await MatrixScene()
        scene.server.on("POST", "v3/logout", .page(502))
        #expect(try await scene.matrix("logout").status == 69)
        #expect(FileManager.default.fileExists(atPath: scene.file.path))
        scene.server.on("POST", "v3/logout", .unknownToken(softLogout: false))
        #expect(try await scene.matrix("logout").status == 0)
        #expect(!FileManager.default.fileExists(atPath: scene.file.path))
    }

    // MARK: Ended logins

    @Test func afterAHardLogoutTheCredentialsAreGone() async throws {
        let scene = try await MatrixScene()
        scene.server.setGate { _ in .unknownToken(softLogout: false) }
        let (status, run) = try await scene.matrix("devices")
        #expect(status == 77)
        #expect(!FileManager.default.fileExists(atPath: scene.file.path))
        #expect(run.errors.contains { $0.hasSuffix("log in again, with pusher-cli matrix login") }, "\(run.errors)")
    }

    @Test func afterASoftLogoutTheSameDeviceLogsInAgain() async throws {
        let scene = try await scene()
        try scene.logIn()
        scene.server.setGate { request in request.token == nil ? nil : .unknownToken(softLogout: true) }
        let (status, run) = try await scene.matrix("devices")
        #expect(status == 77)
        #expect(FileManager.default.fileExists(atPath: scene.file.path))
        #expect(run.errors.contains { $0.hasSuffix("log in again, with pusher-cli matrix login") }, "\(run.errors)")
        let other = try await login(scene, "--user", "bob", "--password-stdin", input: Self.password)
        #expect(other.status == 77)
        #expect(scene.server.requests("POST", "v3/login").isEmpty)
        let again = try await login(scene, "--user", "alice", "--password-stdin", input: Self.password)
        #expect(again.status == 0)
        #expect(scene.server.requests("POST", "v3/login").first?.json?["device_id"]?.string == "DEVICE")
    }

    @Test(arguments: ["devices", "logout"])
    func whoHasLoggedInMeanwhileIsNotLoggedOut(command: String) async throws {
        let scene = try await MatrixScene()
        // Another login replaces this one while the command is running.
        let file = scene.file
        scene.server.setGate { _ in
            let other = MXCredentials(homeServer: "http://x", userId: "@alice:hs", accessToken: "other")
            try? JSONEncoder().encode(other).write(to: file)
            return .unknownToken(softLogout: false)
        }
        #expect(try await scene.matrix(command).status == (command == "logout" ? 0 : 77))
        #expect(try String(contentsOf: scene.file, encoding: .utf8).contains("other"))
    }

    // MARK: The file

    @Test(arguments: [0o644, 0o640, 0o604, 0o660])
    func aFileThatOthersCanReadIsRefused(mode: Int) async throws {
        let scene = try await MatrixScene()
        try scene.setMode(mode)
        let (status, run) = try await scene.matrix("rooms")
        #expect(status == 65)
        #expect(run.errors.first?.contains("others can read") == true)
        #expect(scene.server.requests.isEmpty)
    }

    @Test(arguments: ["", "nonsense", "{}", #"{"homeServer":"http://127.0.0.1:1","userId":"@a:hs"}"#])
    func aFileThatIsNotOursIsStatus65(content: String) async throws {
        let scene = try await MatrixScene()
        try Data(content.utf8).write(to: scene.file)
        try scene.setMode(0o600)
        let (status, run) = try await scene.matrix("rooms")
        #expect(status == 65)
        #expect(run.errors.count == 1)
    }
}
