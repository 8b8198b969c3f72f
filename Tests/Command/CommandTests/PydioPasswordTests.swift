import Foundation
import PydioTestSupport
import TestSupport
import Testing

/// `pydio passwd`.
@Suite(.overSockets)
struct PydioPasswordTests {
    private static let new = "a new password"
    private static let both = PydioScene.password + "\n" + new + "\n"

    @Test(arguments: FakePydioMode.allCases)
    func theNewPasswordIsKeptAsTheOldOneWas(mode: FakePydioMode) async throws {
        let scene = try await PydioScene(FakePydioServer.Configuration(mode: mode), isLoggedIn: false)
        #expect(try await scene.login().status == 0)
        let (status, run) = try await scene.pydio("passwd", "--password-stdin", input: Self.both)
        #expect(status == 0, "\(run.errors)")
        #expect(run.output == [] && run.errors == ["the password of ada is changed"])
        #expect(scene.kept.contains(Self.new) == (mode == .v5_2) && !scene.kept.contains(PydioScene.password))
        #expect(try scene.mode(of: scene.file) == 0o600)
        scene.server.expireSessions()
        #expect(try await scene.pydio("workspaces").status == 0)
        #expect(try await scene.login().status == 77)
        #expect(try await scene.login(password: Self.new).status == 0)
    }

    @Test func aLoginWhoseSessionIsOverIsRenewedToo() async throws {
        for mode in FakePydioMode.allCases {
            let scene = try await PydioScene(FakePydioServer.Configuration(mode: mode))
            #expect(try await scene.pydio("passwd", "--password-stdin", input: Self.both).status == 0)
            scene.server.expireSessions()
            let (status, run) = try await scene.pydio("workspaces")
            #expect(status == 0, "\(mode): \(run.errors)")
        }
    }

    @Test func noPasswordIsKeptThatWasNot() async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        #expect(try await scene.login("--no-password").status == 0)
        #expect(try await scene.pydio("passwd", "--password-stdin", input: Self.both).status == 0)
        #expect(!scene.kept.contains(Self.new))
        #expect(try await scene.pydio("workspaces").status == 0)
    }

    @Test(arguments: FakePydioMode.allCases)
    func aWrongPasswordChangesNothing(mode: FakePydioMode) async throws {
        let scene = try await PydioScene(FakePydioServer.Configuration(mode: mode))
        let (status, run) = try await scene.pydio("passwd", "--password-stdin", input: "tellnobody\nnor this one\n")
        #expect(status == 65)
        #expect(
            run.errors == [
                "error: the server says: the old password is wrong, or the new one too short (PASS_ERROR)"
            ])
        #expect(!run.words.contains("tellnobody") && !run.words.contains("nor this"))
        #expect(try await scene.login().status == 0)
    }

    @Test(arguments: ["", "one\n", "one\n\n", "\ntwo\n", "one\ntwo\nthree\n"])
    func whatIsNotTwoPasswordsIsStatus65_beforeAnythingIsSent(input: String) async throws {
        let scene = try await PydioScene()
        let (status, run) = try await scene.pydio("passwd", "--password-stdin", input: input)
        #expect(status == 65)
        #expect(run.errors.count == 1 && scene.server.requests.isEmpty)
    }

    @Test func aServerThatCannotSaysSo() async throws {
        let scene = try await PydioScene()
        scene.server.configure { $0.letsChangePasswords = false }
        let (status, run) = try await scene.pydio("passwd", "--password-stdin", input: Self.both)
        #expect(status == 69)
        #expect(
            run.errors == [
                "error: the server cannot change the password: its version has no such action, or not for this account; "
                    + "nothing was changed"
            ])
        #expect(scene.kept.contains(PydioScene.password))
    }

    @Test func aLostAnswerLeavesItOpen() async throws {
        let scene = try await PydioScene()
        scene.server.inject(.drop, into: "pass_change", times: nil)
        let (status, run) = try await scene.pydio("passwd", "--password-stdin", input: Self.both)
        #expect(status == 69)
        #expect(
            run.errors.last?.hasSuffix("; the server may have changed the password before: log in with either of them")
                == true)
        #expect(!run.words.contains(Self.new) && scene.server.count("pass_change") == 1)
        // Without a request, nothing changes.
        scene.server.inject(.drop, into: "get_seed", times: nil)
        let unsent = try await scene.pydio("passwd", "--password-stdin", input: Self.both)
        #expect(unsent.status == 69 && !unsent.run.words.contains("may have changed"))
    }

    @Test func atATerminalTheNewOneIsAskedForTwice_andNothingIsShown() async throws {
        let scene = try await PydioScene()
        for (second, status) in [("another one", Int32(65)), (Self.new, 0)] {
            let run = try CommandRun(["pydio", "passwd"], environment: scene.environment, isAtTerminal: true)
            #expect(await run.waitFor { $0.joined().contains("Password of ada until now: ") })
            try run.type(PydioScene.password + "\n")
            #expect(await run.waitFor { $0.joined().contains("New password: ") })
            try run.type(Self.new + "\n")
            #expect(await run.waitFor { $0.joined().contains("The same again: ") })
            try run.type(second + "\n")
            #expect(await run.status() == status)
            #expect(!run.words.contains(Self.new) && !run.words.contains(PydioScene.password))
            #expect(scene.server.count("pass_change") == (status == 0 ? 1 : 0))
        }
        #expect(try await scene.login(password: Self.new).status == 0)
    }

    @Test func thePasswordsAreNowhereInTheProcessList_andAnInterruptedChangeIsNone() async throws {
        let scene = try await PydioScene()
        scene.server.inject(.silence, into: "get_seed")
        let run = try scene.run(["pydio", "passwd", "--password-stdin"], input: Self.both)
        #expect(await eventually { scene.server.count("get_seed") == 1 })
        #expect(!run.listing.contains(Self.new) && !run.listing.contains(PydioScene.password))
        run.interrupt()
        #expect(await run.status() == 130)
        #expect(scene.server.count("pass_change") == 0)
    }
}
