import EncryptionTestSupport
import Foundation
import MatrixEncryption
import MatrixTestSupport
import TestSupport
import Testing

/// `matrix verify`, at a terminal.
@Suite(.overSockets)
struct MatrixVerifyTests {
    private static let question = "Does the other side show the same?"
    private static let interrupted =
        "error: interrupted: nothing is verified, and the other side is told; run the command again to try again"

    /// Runs a verification up to the question.
    private func asked(_ scene: EncryptedCommandScene) async throws -> TerminalRun {
        let run = try scene.atTerminal("verify", "--user", "@b:s")
        #expect(await scene.accepts())
        #expect(await scene.shows(Self.question, run))
        return run
    }

    @Test func withoutATerminalNothingIsSent() async throws {
        let scene = try await EncryptedCommandScene()
        let run = try scene.scene.run(["matrix", "verify", "--user", "@b:s"])
        #expect(await run.status() == 69)
        #expect(
            run.errors == [
                """
                error: there is no terminal to show what both sides must see: run this at one; nothing was sent
                """
            ])
        #expect(scene.scene.server.requests.isEmpty)
    }

    @Test func anEmptyAnswerIsNone_andTheQuestionIsAskedAgain() async throws {
        let scene = try await EncryptedCommandScene()
        let run = try await asked(scene)
        try run.type("\r")
        #expect(await run.shows { $0.lines.count { $0.contains(Self.question) } == 2 })
        try run.type("what\r")
        #expect(await run.shows { $0.lines.count { $0.contains(Self.question) } == 3 })
        try run.type("n\r")
        #expect(await run.status() == 77)
        #expect(await run.shows("not verified: the two sides do not show the same. Somebody may stand between them"))
        #expect(await scene.isCancelled(.mismatchedSAS))
    }

    @Test func ctrlCAtTheQuestionTellsTheOtherSide() async throws {
        let scene = try await EncryptedCommandScene()
        let run = try await asked(scene)
        try run.type("\u{3}")
        #expect(await run.status() == 130)
        #expect(await run.shows(Self.interrupted))
        #expect(await scene.isCancelled(.user))
    }

    @Test func ctrlCBeforeTheOtherSideAcceptsTellsIt() async throws {
        let scene = try await EncryptedCommandScene()
        let run = try scene.atTerminal("verify", "--user", "@b:s")
        #expect(await scene.with { $0.state == .requested })
        run.signal(SIGINT)
        #expect(await run.status() == 130)
        #expect(await run.shows(Self.interrupted))
        #expect(await scene.isCancelled(.user))
    }

    @Test func whoDoesNotAcceptInTimeIsTold() async throws {
        let scene = try await EncryptedCommandScene()
        let run = try scene.atTerminal("verify", "--user", "@b:s", "--timeout", "5")
        #expect(await scene.with { $0.state == .requested })
        #expect(await run.status() == 75)
        #expect(await run.shows("error: not verified: not done within 5 s"))
        #expect(await scene.isCancelled(.user))
    }

    /// An obsolete question needs no answer.
    @Test func theOtherSideCancelsWhileOurUserIsAsked() async throws {
        let scene = try await EncryptedCommandScene()
        let run = try await asked(scene)
        #expect(
            await scene.with {
                !$0.isFinished
            } _: {
                try $0.cancelVerification($1, .user, &$2)
            })
        #expect(await run.status() == 77)
        #expect(
            await run.shows("error: not verified: the other side has cancelled: The user cancelled the verification."))
        #expect(!run.isRaw)
    }

    @Test func theDeviceIsNamedBeforeWhatItMustShow() async throws {
        let scene = try await EncryptedCommandScene()
        let run = try await asked(scene)
        let lines = run.screen.lines
        let name = try #require(
            lines.firstIndex { $0.contains("device BOB of @b:s") && $0.contains("must show this:") })
        let question = try #require(lines.firstIndex { $0.contains(Self.question) })
        #expect(question == name + 3)  // emoji and numbers
    }

    /// Without keys that vouch for users, only a device is verified.
    @Test func withoutCrossSigningKeysNoUserIsCalledVerified() async throws {
        let scene = try await EncryptedCommandScene()
        let run = try await asked(scene)
        try run.type("y\r")
        #expect(await scene.confirms())
        #expect(await run.status() == 77)
        #expect(await run.shows("verified device BOB of @b:s, for this device only"))
        #expect(await run.shows("error: @b:s is not verified: this device does not have your cross-signing keys"))
    }

    @Test func withCrossSigningKeysTheUserIsVerified() async throws {
        let scene = try await EncryptedCommandScene()
        #expect(try await scene.scene.matrix("recovery", "create").status == 0)
        let run = try await asked(scene)
        try run.type("y\r")
        #expect(await scene.confirms())
        #expect(await run.status() == 0, "\(run.screen.lines)")
        #expect(await run.shows("verified @b:s, device BOB"))
    }

    // MARK: Two requests at once

    @Test func aRequestThatWaitsIsAccepted_andNoneIsSent() async throws {
        let scene = try await EncryptedCommandScene()
        try scene.addDevice("@a:s", "PHONE")
        #expect(try await scene.scene.matrix("keys", "backup").status == 0)  // gives the device its keys
        try scene.with("PHONE") { device in
            try device.turn { try $0.refresh(["@a:s"], &$1) }
            try device.pump()
            try device.turn { _ = try $0.requestVerification(of: "@a:s", device: "DEVICE", &$1) }
        }
        let run = try scene.atTerminal("verify")
        #expect(
            await scene.with("PHONE") {
                if case .ready = $0.state { true } else { false }
            } _: {
                try $0.startComparing($1, &$2)
            })
        #expect(await scene.shows(Self.question, run, with: "PHONE"))
        #expect(!scene.home.types(to: DeviceAddress("@a:s", "PHONE")).contains("m.key.verification.request"))
        try run.type("y\r")
        #expect(await scene.confirms("PHONE"))
        #expect(await run.status() == 0, "\(run.screen.lines)")
        #expect(await run.shows("verified device PHONE of @a:s, for this device only"))
    }

    /// The other side learns that our request is void.
    @Test func ofTwoRequestsAtOnceThatOfTheSmallerDeviceCounts() async throws {
        let scene = try await EncryptedCommandScene()
        try scene.addDevice("@a:s", "ALPHA")
        #expect(try await scene.scene.matrix("keys", "backup").status == 0)
        let run = try scene.atTerminal("verify")
        #expect(
            await scene.with("ALPHA") {
                $0.state == .requested
            } _: { machine, _, turn in
                _ = try machine.requestVerification(of: "@a:s", device: "DEVICE", &turn)
            })
        #expect(await scene.isCancelled(.user, at: "ALPHA"))
        #expect(
            await scene.with("ALPHA") {
                if case .ready = $0.state { true } else { false }
            } _: {
                try $0.startComparing($1, &$2)
            })
        #expect(await scene.shows(Self.question, run, with: "ALPHA"))
        #expect(run.screen.lines.contains { $0.contains("device ALPHA of @a:s") })
        try run.type("y\r")
        #expect(await scene.confirms("ALPHA"))
        #expect(await run.status() == 0, "\(run.screen.lines)")
    }

    @Test func ofTwoRequestsAtOnceThatOfTheLargerDeviceWaits() async throws {
        let scene = try await EncryptedCommandScene()
        try scene.addDevice("@a:s", "PHONE")
        #expect(try await scene.scene.matrix("keys", "backup").status == 0)
        let run = try scene.atTerminal("verify")
        #expect(
            await scene.with("PHONE") {
                $0.state == .requested
            } _: { machine, _, turn in
                _ = try machine.requestVerification(of: "@a:s", device: "DEVICE", &turn)
            })
        let hint = "device PHONE of @a:s asks for a verification, too: accept the request of this device there"
        #expect(await scene.shows(hint, run, with: "PHONE"))
        #expect(await scene.accepts("PHONE"))
        #expect(await scene.shows(Self.question, run, with: "PHONE"))
        try run.type("y\r")
        #expect(await scene.confirms("PHONE"))
        #expect(await run.status() == 0, "\(run.screen.lines)")
    }

    @Test func anotherDeviceThanTheOneAskedForIsLeftAlone() async throws {
        let scene = try await EncryptedCommandScene()
        for device in ["ALPHA", "PHONE"] { try scene.addDevice("@a:s", device) }
        #expect(try await scene.scene.matrix("keys", "backup").status == 0)
        let run = try scene.atTerminal("verify", "--device", "PHONE")
        try scene.with("ALPHA") { device in
            try device.turn { try $0.refresh(["@a:s"], &$1) }
            try device.pump()
            try device.turn { _ = try $0.requestVerification(of: "@a:s", device: "DEVICE", &$1) }
        }
        #expect(await scene.accepts("PHONE"))
        #expect(await scene.shows(Self.question, run, with: "PHONE"))
        #expect(run.screen.lines.contains { $0.contains("device PHONE of @a:s") })
        #expect(!run.screen.lines.contains { $0.contains("ALPHA") })
        try run.type("y\r")
        #expect(await scene.confirms("PHONE"))
        #expect(await run.status() == 0, "\(run.screen.lines)")
        #expect(try scene.with("ALPHA") { $0.machine.verifications.map(\.state) == [.requested] })
    }
}
