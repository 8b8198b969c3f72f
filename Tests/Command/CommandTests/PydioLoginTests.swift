import Foundation
import PydioTestSupport
import TestSupport
import Testing

/// `pydio login` and `logout`, and their shared file.
@Suite(.overSockets)
struct PydioLoginTests {
    private static let captcha: FakePydioServer.Configuration = {
        var configuration = FakePydioServer.Configuration()
        configuration.captchaCode = "x7f2"
        return configuration
    }()

    // MARK: Password

    @Test(arguments: ["\n", "", "\r\n"])
    func aPasswordFromStandardInputLogsIn_andWhatIsKeptIsForItsOwnerAlone(end: String) async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        let (status, run) = try await scene.pydio(
            "login", scene.server.address, "--user", "ada", "--password-stdin", input: PydioScene.password + end)
        #expect(status == 0)
        #expect(
            run.output == [
                "logged in as ada on \(scene.server.address); the session and the password are saved in \(scene.file.path)"
            ])
        #expect(run.errors == [])
        #expect(try scene.mode(of: scene.file) == 0o600)
        #expect(try scene.mode(of: scene.file.deletingLastPathComponent()) == 0o700)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scene.file.deletingLastPathComponent().path).count == 1)
        #expect(scene.kept.contains(PydioScene.password))
        let token = try #require(scene.server.sessions.first?.tokens.first)
        #expect(scene.kept.contains(token) && !run.words.contains(token))

        // Later commands use the session.
        #expect(try await scene.pydio("workspaces").status == 0)
        #expect(scene.server.count("login") == 1)
    }

    @Test func withoutThePasswordTheSessionAloneIsKept() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        #expect(try await scene.login("--no-password").status == 0)
        #expect(!scene.kept.contains(PydioScene.password))
        #expect(try await scene.pydio("workspaces").status == 0)
        scene.server.expireSessions()
        let over = try await scene.pydio("workspaces")
        #expect(over.status == 77)
        #expect(
            over.run.errors == [
                "error: the session has expired, and no password was saved: pusher-cli pydio login "
                    + "\(scene.server.address) --user ada"
            ])
        #expect(scene.server.count("login") == 1)
    }

    @Test(arguments: FakePydioMode.allCases)
    func aRememberedLoginOutlivesItsSession_withoutThePassword(mode: FakePydioMode) async throws {
        let scene = try await PydioScene(.init(mode: mode), isLoggedIn: false)
        let (status, run) = try await scene.login("--remember")
        #expect(status == 0 && run.errors == [])
        #expect(run.output.first?.hasSuffix("; the session is saved, and the server remembers the login") == true)
        #expect(!scene.kept.contains(PydioScene.password) && !scene.kept.contains("keyPair"))
        #expect(try scene.mode(of: scene.file) == 0o600)
        // The cookie changes with each use.
        for _ in 0..<2 {
            scene.server.expireSessions()
            let again = try await scene.pydio("workspaces")
            #expect(again.status == 0 && again.run.errors == [])
        }
        #expect(!scene.kept.contains(PydioScene.password))
        #expect(scene.server.requests("login").filter { $0.parameter("password") != nil }.count == 1)
        scene.server.expireSessions()
        scene.server.forgetRememberedLogins()
        for _ in 0..<2 {
            let over = try await scene.pydio("workspaces")
            #expect(over.status == 77)
            #expect(
                over.run.errors.first?.hasSuffix(": pusher-cli pydio login \(scene.server.address) --user ada") == true)
        }
        #expect(scene.server.requests("login").filter { $0.parameter("cookie_login") != nil }.count == 3)
    }

    @Test func aServerThatDoesNotRememberIsReported() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        scene.server.configure { $0.remembersLogins = false }
        let (status, run) = try await scene.login("--remember")
        #expect(status == 0)
        #expect(run.output.first?.hasSuffix("; only the session is saved") == true)
        #expect(
            run.errors == ["warning: the server does not remember logins: log in again when the session is over"])
        #expect(try await scene.login("--remember", "--no-password").status == 64)
    }

    @Test func logoutEndsARememberedLogin() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        #expect(try await scene.login("--remember").status == 0)
        let kept = try Data(contentsOf: scene.file)
        #expect(try await scene.pydio("logout").status == 0)
        try kept.write(to: scene.file)
        try scene.setMode(0o600)
        #expect(try await scene.pydio("workspaces").status == 77)
    }

    @Test func aKeyPairIsKeptInPlaceOfThePassword() async throws {
        let scene = try await PydioScene(.init(mode: .v8), isLoggedIn: false)
        let (status, run) = try await scene.login()
        #expect(status == 0)
        #expect(run.output.first?.hasSuffix("; a key pair is saved instead of the password") == true)
        #expect(scene.kept.contains("keyPair"))
        #expect(!scene.kept.contains(PydioScene.password))
        scene.server.expireSessions()
        #expect(try await scene.pydio("workspaces").status == 0)
        scene.server.revokeKeyPairs()
        let over = try await scene.pydio("workspaces")
        #expect(over.status == 77)
        #expect(over.run.words.contains("pusher-cli pydio login \(scene.server.address) --user ada"))
        let again = try await scene.login()
        #expect(again.status == 0)
    }

    @Test func withoutThePasswordThereIsNoKeyPairEither() async throws {
        let scene = try await PydioScene(.init(mode: .v8), isLoggedIn: false)
        let (status, run) = try await scene.login("--no-password")
        #expect(status == 0)
        #expect(run.output.first?.hasSuffix("; only the session is saved") == true)
        #expect(try await scene.pydio("workspaces").status == 0)
        #expect(!scene.kept.contains("keyPair") && !scene.kept.contains(PydioScene.password))
        #expect(scene.server.count("keystore_generate_auth_token") == 0)
        scene.server.expireSessions()
        #expect(try await scene.pydio("workspaces").status == 77)
    }

    @Test func aWrongPasswordIsStatus77_andTriedOnce() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        let (status, run) = try await scene.login(password: "wrong words")
        #expect(status == 77)
        #expect(
            run.errors == ["error: the server refused the login: wrong name or password, or the account is locked"])
        #expect(!run.words.contains("wrong words"))
        #expect(scene.server.count("login") == 1)
        #expect(!FileManager.default.fileExists(atPath: scene.file.path))
        #expect(try await scene.login(password: "").status == 65)
    }

    @Test func aPasswordThatWasChangedIsStatus77_andTriedOnce() async throws {
        let scene = try await PydioScene()
        try scene.logIn(password: "the one before")
        let (status, run) = try await scene.pydio("ls", "plans:")
        #expect(status == 77)
        #expect(run.errors.first?.hasSuffix(": pusher-cli pydio login \(scene.server.address) --user ada") == true)
        #expect(!run.words.contains("the one before"))
        #expect(scene.server.count("login") == 1)
    }

    @Test func thePasswordIsNowhereInTheProcessList_andAnInterruptedLoginIsNone() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        scene.server.inject(.silence, into: "login")
        let run = try scene.run(
            ["pydio", "login", scene.server.address, "--user", "ada", "--password-stdin"], input: PydioScene.password)
        #expect(await eventually { scene.server.count("login") == 1 })
        #expect(run.listing.contains("--password-stdin"))
        #expect(!run.listing.contains(PydioScene.password))
        run.interrupt()
        #expect(await run.status() == 130)
        #expect(!FileManager.default.fileExists(atPath: scene.file.path))
    }

    @Test func atATerminalPasswordAndCodeAreAskedFor() async throws {
        let scene = try await PydioScene(Self.captcha, isLoggedIn: false)
        scene.server.forceCaptcha()
        let run = try CommandRun(
            ["pydio", "login", scene.server.address, "--user", "ada"], environment: scene.environment,
            isAtTerminal: true)
        #expect(await run.waitFor { $0.contains { $0.contains("Password of ada: ") } })
        try run.type(PydioScene.password + "\n")
        #expect(await run.waitFor { $0.contains { $0.contains("its image is ") && $0.contains("pydio-captcha.png") } })
        #expect(await run.waitFor { $0.joined().contains("Code in the image: ") })
        try run.type("nope\n")
        #expect(await run.waitFor { $0.joined().contains(#/is wrong(.|\s)*Code in the image: /#) })
        #expect(scene.server.count("get_captcha") == 2)
        try run.type("x7fü\u{7F}2\n")
        #expect(await run.status() == 0)
        #expect(run.words.contains("logged in as ada"))
        #expect(run.words.contains("Code in the image: x7f2"))
        #expect(!run.words.contains("sesame"))
        #expect(scene.server.count("login") == 2)
    }

    @Test func ctrlCAtThePromptIsStatus130() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        let run = try CommandRun(
            ["pydio", "login", scene.server.address, "--user", "ada"], environment: scene.environment,
            isAtTerminal: true)
        #expect(await run.waitFor { $0.contains { $0.contains("Password of ada: ") } })
        try run.type("open\u{3}")
        #expect(await run.status() == 130)
        #expect(scene.server.requests.isEmpty)
    }

    // MARK: Captcha

    @Test func aCaptchaIsSolvedInTwoSteps() async throws {
        let scene = try await PydioScene(Self.captcha, isLoggedIn: false)
        scene.server.forceCaptcha()
        let first = try await scene.login()
        #expect(first.status == 77)
        let image = try #require(first.run.output.first)
        #expect(first.run.output.count == 1)
        #expect(first.run.errors.first?.contains("log in again with --captcha-code and the code in \(image)") == true)
        #expect(try Data(contentsOf: URL(filePath: image)).starts(with: [0x89, 0x50, 0x4E, 0x47]))
        #expect(!scene.kept.contains(PydioScene.password))
        #expect(try await scene.pydio("workspaces").status == 77)

        let wrong = try await scene.login("--captcha-code", "nope")
        #expect(wrong.status == 77)
        #expect(wrong.run.errors.first == "error: the code or the password is wrong")
        #expect(scene.server.count("get_captcha") == 2)

        let right = try await scene.login("--captcha-code", "x7f2")
        #expect(right.status == 0)
        #expect(!FileManager.default.fileExists(atPath: image))
        #expect(try await scene.pydio("workspaces").status == 0)
        // In the image's session, with its seed, and without requesting another one.
        #expect(scene.server.count("get_seed") == 1)
        #expect(scene.server.count("login") == 2)
        #expect(scene.server.requests("login").last?.session == scene.server.requests("get_captcha").last?.session)
    }

    @Test func theImageGoesWhereItIsWanted() async throws {
        let scene = try await PydioScene(Self.captcha, isLoggedIn: false)
        scene.server.forceCaptcha()
        let file = scene.local("my image.png")
        let (status, run) = try await scene.login("--captcha-file", file.path)
        #expect(status == 77)
        #expect(run.output == [file.path])
        #expect(try await scene.login("--captcha-code", "x7f2", "--captcha-file", file.path).status == 0)
        #expect(scene.localPaths == ["my image.png"])
    }

    @Test func aCodeThatNobodyWaitsForIsStatus65() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        let (status, run) = try await scene.login("--captcha-code", "x7f2")
        #expect(status == 65)
        #expect(run.words.contains("waits for a code: log in without --captcha-code first"))
        #expect(scene.server.requests.isEmpty)
    }

    @Test func aCaptchaInTheMiddleSaysHowItIsSolved() async throws {
        let scene = try await PydioScene()
        scene.server.forceCaptcha()
        let (status, run) = try await scene.pydio("ls", "plans:")
        #expect(status == 77)
        #expect(run.words.contains("captcha"))
        #expect(run.words.contains("pusher-cli pydio login \(scene.server.address) --user ada"))
    }

    // MARK: Several servers

    @Test func theLatestLoginIsTheDefault_andServersAreChosenByAddressOrHost() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        var configuration = FakePydioServer.Configuration(
            workspaces: [FakePydioWorkspace(id: "0", slug: "other", label: "Other")])
        configuration.basePath = "/sub"
        let other = try await FakePydioServer.start(configuration)
        #expect(try await scene.login().status == 0)
        let second = try scene.run(
            ["pydio", "login", other.address + "/", "--user", "bob", "--password-stdin"], input: "pässwörd")
        #expect(await second.status() == 0)
        #expect(try await scene.pydio("workspaces").run.output.count == 1)
        let first = try await scene.pydio("workspaces", "--server", scene.server.address)
        #expect(first.run.output.count == 3)
        let host = try await scene.pydio("workspaces", "--server", "127.0.0.1")
        #expect(host.status == 65)
        #expect(host.run.errors.first?.hasPrefix("error: 2 servers are on 127.0.0.1; give an address: ") == true)
        let nowhere = try await scene.pydio("workspaces", "--server", "https://example.org")
        #expect(nowhere.status == 77)
        #expect(
            nowhere.run.errors == [
                "error: not logged in at https://example.org: run pusher-cli pydio login https://example.org"
            ])
        // After the last login ends, the previous one is the default.
        #expect(try await scene.pydio("logout").status == 0)
        #expect(try await scene.pydio("workspaces").run.output.count == 3)
        #expect(try await scene.pydio("logout", "--server", "127.0.0.1").status == 0)
        #expect(!FileManager.default.fileExists(atPath: scene.file.path))
        await other.stop()
    }

    // MARK: Other servers

    @Test func aServerThatIsNoneIsStatus69() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        let arguments = ["--user", "ada", "--password-stdin"]
        let gone = try scene.run(["pydio", "login", "http://127.0.0.1:1"] + arguments, input: PydioScene.password)
        #expect(await gone.status() == 69)
        #expect(gone.words.contains("cannot connect to 127.0.0.1:1"))
        scene.server.inject(.htmlPage(), into: "get_seed", times: nil)
        let other = try await scene.login()
        #expect(other.status == 69)
        #expect(other.run.words.contains("not a Pydio server"))
    }

    @Test(arguments: [
        "example.org", "ftp://example.org", "https://", "https://ada:secret@example.org", "https://example.org/?a=b",
    ])
    func whatIsNoAddressIsStatus64(address: String) async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        let run = try scene.run(["pydio", "login", address, "--user", "ada"])
        #expect(await run.status() == 64)
        #expect(!run.words.contains("secret@"))
    }

    // MARK: Logging out

    @Test func logoutEndsTheSession_andDeletesWhatWasKept() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        #expect(try await scene.login().status == 0)
        #expect(try await scene.pydio("logout").status == 0)
        #expect(scene.server.count("logout") == 1)
        #expect(!FileManager.default.fileExists(atPath: scene.file.path))
        #expect(try await scene.pydio("logout").status == 77)
    }

    @Test func logoutRevokesAKeyPair() async throws {
        let scene = try await PydioScene(.init(mode: .v8), isLoggedIn: false)
        #expect(try await scene.login().status == 0)
        let (status, run) = try await scene.pydio("logout")
        #expect(status == 0)
        #expect(run.errors == [])
        #expect(scene.server.count("keystore_revoke_tokens") == 1)
        #expect(try await scene.login().status == 0)
        await scene.server.stop()
        let forced = try await scene.pydio("logout", "--force")
        #expect(forced.run.errors.first?.contains("was not told; the key pair may stay valid there: ") == true)
    }

    @Test func ifTheServerIsGoneEverythingStays_butWithForce() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        #expect(try await scene.login().status == 0)
        await scene.server.stop()
        #expect(try await scene.pydio("logout").status == 69)
        #expect(scene.kept.contains(PydioScene.password))
        let forced = try await scene.pydio("logout", "--force")
        #expect(forced.status == 0)
        #expect(forced.run.errors.first?.hasPrefix("warning: the server was not told: ") == true)
        #expect(!FileManager.default.fileExists(atPath: scene.file.path))
    }

    // MARK: The file

    @Test(arguments: [0o644, 0o640, 0o604, 0o660])
    func aFileThatOthersCanReadIsRefused(mode: Int) async throws {
        let scene = try await PydioScene()
        try scene.setMode(mode)
        let (status, run) = try await scene.pydio("workspaces")
        #expect(status == 65)
        #expect(run.errors.first?.contains("others can read") == true)
        #expect(scene.server.requests.isEmpty)
    }

    @Test(arguments: ["", "nonsense", "{}", #"{"logins":[{"user":"ada"}]}"#])
    func aFileThatIsNotOursIsStatus65(content: String) async throws {
        let scene = try await PydioScene()
        try Data(content.utf8).write(to: scene.file)
        try scene.setMode(0o600)
        let (status, run) = try await scene.pydio("workspaces")
        #expect(status == 65)
        #expect(run.errors.count == 1)
    }

    @Test func commandsAtTheSameTimeLoseNothingOfTheFile() async throws {
        let scene = try await PydioScene()
        let runs = try (0..<6).map { _ in try scene.run(["pydio", "workspaces"]) }
        for run in runs {
            #expect(await run.status() == 0)
            #expect(run.errors == [])
        }
        #expect(scene.kept.contains(PydioScene.password))
        let logins = scene.server.count("login")
        #expect(try await scene.pydio("workspaces").status == 0)
        #expect(scene.server.count("login") == logins)  // the last login's session is kept
    }
}
