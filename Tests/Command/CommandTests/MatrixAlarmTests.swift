import EncryptionTestSupport
import Foundation
import MatrixEncryption
import MatrixTestSupport
import TestSupport
import Testing

/// Unrequested messages of commands about encryption: alarms, and warnings that the device is not verified.
@Suite(.overSockets)
struct MatrixAlarmTests {
    private static let hint = "this device is not verified"

    private func send(_ scene: EncryptedCommandScene, _ text: String = "hi") async throws -> CommandRun {
        let sent = try await scene.scene.matrix("send", "!r:s", text)
        #expect(sent.status == 0, "\(sent.run.errors)")
        #expect(sent.run.output.count == 1)
        return sent.run
    }

    /// Returns a scene whose device is verified and has been in use.
    private func scene() async throws -> EncryptedCommandScene {
        let scene = try await EncryptedCommandScene()
        #expect(try await scene.scene.matrix("recovery", "create").status == 0)
        #expect(try await send(scene).errors == [])
        return scene
    }

    private func expect(_ parts: String..., in run: CommandRun, sourceLocation: SourceLocation = #_sourceLocation) {
        let lines = run.errors.filter { $0.hasPrefix("warning: ") && $0.contains(parts[0]) }
        #expect(lines.count == 1, "\(run.errors)", sourceLocation: sourceLocation)
        for part in parts {
            #expect(lines.first?.contains(part) == true, "\(run.errors)", sourceLocation: sourceLocation)
        }
    }

    // MARK: Alarms

    @Test func otherKeysForThisDeviceAreTold() async throws {
        let scene = try await scene()
        try scene.home.with { world in
            let impostor = try TestDevice("@a:s", "DEVICE", on: KeyServer())
            world.keys.devices[LyingHomeserver.client]?.keys = impostor.machine.deviceKeys.json
            world.keys.noteChange(of: "@a:s")
        }
        expect(
            "the homeserver names other keys for this device than it has", "pusher-cli matrix logout",
            in: try await send(scene))
    }

    @Test func anotherIdentityOfAUserIsTold_withHowToVerifyIt() async throws {
        let scene = try await scene()
        try scene.home.with { world in
            let other = try TestDevice("@b:s", "OTHER", on: KeyServer())
            try other.makeIdentity()
            world.keys.identities["@b:s"] = other.server.identities["@b:s"]
            world.keys.noteChange(of: "@b:s")
        }
        expect("@b:s has another identity", "pusher-cli matrix verify --user @b:s", in: try await send(scene))
    }

    @Test func anotherIdentityOfOnesOwnIsTold() async throws {
        let scene = try await scene()
        try scene.home.with { world in
            let other = try TestDevice("@a:s", "OTHER", on: KeyServer())
            try other.makeIdentity()
            world.keys.identities["@a:s"] = other.server.identities["@a:s"]
            world.keys.noteChange(of: "@a:s")
        }
        expect(
            "your own identity was replaced", "pusher-cli matrix verify", "pusher-cli matrix recovery use",
            in: try await send(scene))
    }

    @Test func keysThatTheHomeserverDoesNotTakeAreTold() async throws {
        let scene = try await EncryptedCommandScene()
        scene.scene.server.on(
            "POST", "v3/keys/upload", .error(400, "M_UNKNOWN"))
        expect("cannot be reached any more", "pusher-cli matrix login", in: try await send(scene))
    }

    @Test func aStoreThatWasCopiedIsTold() async throws {
        let scene = try await scene()
        let copy = scene.scene.home.appending(path: "copy")
        try FileManager.default.copyItem(at: scene.scene.data, to: copy)
        try FileManager.default.removeItem(at: scene.scene.data)
        try FileManager.default.moveItem(at: copy, to: scene.scene.data)
        expect("is a copy, or was put back from a backup", in: try await send(scene))
        #expect(try await send(scene).errors == [])
    }

    @Test func aListenTellsAlarmsAsTheyCome() async throws {
        let scene = try await scene()
        let listen = try scene.scene.run(["matrix", "listen", "--json"])
        #expect(await listen.waitFor { $0.contains { $0.contains(#""to":"running""#) } })
        try scene.home.with { world in
            let other = try TestDevice("@b:s", "OTHER", on: KeyServer())
            try other.makeIdentity()
            world.keys.identities["@b:s"] = other.server.identities["@b:s"]
            world.keys.noteChange(of: "@b:s")
        }
        #expect(await eventually { listen.errors.contains { $0.contains("@b:s has another identity") } })
    }

    @Test func theChatTellsThemOnTheScreen() async throws {
        let scene = try await scene()
        let run = try scene.atTerminal("chat", "!r:s")
        #expect(await scene.shows("hi", run))
        try scene.home.with { world in
            let other = try TestDevice("@b:s", "OTHER", on: KeyServer())
            try other.makeIdentity()
            world.keys.identities["@b:s"] = other.server.identities["@b:s"]
            world.keys.noteChange(of: "@b:s")
        }
        #expect(await scene.shows("@b:s has another identity", run))
    }

    // MARK: The device is not verified

    @Test func aLoginWithoutAnIdentityIsToldOnce() async throws {
        let scene = try await EncryptedCommandScene()
        let first = try await send(scene)
        #expect(first.errors.count == 1 && first.errors[0].hasPrefix(Self.hint), "\(first.errors)")
        #expect(first.errors.first?.contains("pusher-cli matrix recovery create") == true)
        for _ in 0..<3 { #expect(try await send(scene).errors == []) }
    }

    @Test func aDeviceThatTheIdentityDoesNotVouchForIsToldOnce() async throws {
        let scene = try await EncryptedCommandScene()
        try scene.addDevice("@a:s", "PHONE")
        try scene.with("PHONE") { try $0.makeIdentity() }
        let first = try await send(scene)
        #expect(first.errors.count == 1 && first.errors[0].hasPrefix(Self.hint), "\(first.errors)")
        #expect(first.errors.first?.contains("pusher-cli matrix verify") == true)
        #expect(first.errors.first?.contains("pusher-cli matrix recovery use") == true)
        #expect(try await send(scene).errors == [])
    }

    @Test func aListenTellsIt_andNoCommandBesideOrAfterIt() async throws {
        let scene = try await EncryptedCommandScene()
        let listen = try scene.scene.run(["matrix", "listen", "--json"])
        #expect(await eventually { listen.errors.contains { $0.hasPrefix(Self.hint) } })
        #expect(!listen.output.contains { $0.contains(Self.hint) })
        #expect(try await send(scene).errors == [])
        listen.signal(SIGTERM)
        _ = await listen.status()
        #expect(try await send(scene).errors == [])
    }

    @Test func theChatTellsIt() async throws {
        let scene = try await EncryptedCommandScene()
        let run = try scene.atTerminal("chat", "!r:s")
        #expect(await scene.shows(Self.hint, run))
    }

    /// Verification is not needed where nothing is encrypted.
    @Test func commandsWithoutKeysSayNothing() async throws {
        let scene = try await EncryptedCommandScene()
        let rooms = try await scene.scene.matrix("rooms")
        #expect(rooms.status == 0 && rooms.run.errors == [])
    }
}
