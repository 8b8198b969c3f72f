import EncryptionTestSupport
import Foundation
import MatrixEncryption
import MatrixTestSupport
import TestSupport
import Testing

/// Commands of `@a:s` at a homeserver with keys, beside the devices of other users.
struct EncryptedCommandScene {
    let scene: MatrixScene
    let home: LyingHomeserver

    init() async throws {
        scene = try await MatrixScene(isLoggedIn: false)
        home = try LyingHomeserver(on: scene.server)
        try scene.logIn(user: "@a:s")
        try home.with { world in
            for user in ["@a:s", "@b:s"] { world.setMember(user) }
            world.setEncryption()
            for device in [world.bob, world.eve] { device.now = Self.now }
        }
    }

    /// The time as commands see it.
    static var now: UInt64 { UInt64(Date().timeIntervalSince1970 * 1000) }

    func addDevice(_ user: String, _ device: String) throws {
        try home.with { world in
            let device = try TestDevice(user, device, on: world.keys)
            device.now = Self.now
            world.others.append(device)
        }
    }

    /// Runs `pusher-cli matrix …` at a terminal.
    func atTerminal(_ arguments: String...) throws -> TerminalRun {
        try TerminalRun(
            nil, ["matrix"] + arguments,
            environment: [
                "XDG_CONFIG_HOME": scene.home.path, "XDG_DATA_HOME": scene.data.path, "HOME": scene.home.path,
            ],
            columns: 200)
    }

    /// Lets a device process its input, act and send.
    func with<Value>(
        _ device: String = "BOB", _ body: (TestDevice) throws -> sending Value
    ) throws -> sending Value {
        try home.with { world in
            let devices = [world.bob, world.eve] + world.others
            let device = try #require(devices.first { $0.address.device == device })
            try device.sync()
            let value = try body(device)
            try device.pump()
            return value
        }
    }

    /// Waits until the command shows a text, while a device takes part.
    func shows(_ text: String, _ run: TerminalRun, with device: String = "BOB") async -> Bool {
        await eventually {
            try? with(device) { _ in }
            return run.screen.lines.contains { $0.contains(text) }
        }
    }

    /// Waits for a device's verification with the command's device, and acts on it.
    func with(
        _ device: String = "BOB", _ condition: @escaping @Sendable (Verification) -> Bool,
        _ body: @escaping @Sendable (inout CryptoMachine, Verification.ID, inout CryptoTurn) throws -> Void = {
            _, _, _ in
        }
    ) async -> Bool {
        await eventually {
            (try? with(device) { device in
                guard
                    let verification = device.machine.verifications.last(where: {
                        $0.id.user == "@a:s" && condition($0)
                    })
                else { return false }
                try device.turn { try body(&$0, verification.id, &$1) }
                return true
            }) == true
        }
    }

    func accepts(_ device: String = "BOB") async -> Bool {
        await with(device) {
            $0.state == .requested && $0.direction == .incoming
        } _: {
            try $0.acceptVerification($1, &$2)
        }
    }

    func confirms(_ device: String = "BOB") async -> Bool {
        await with(device) {
            if case .comparing = $0.state { true } else { false }
        } _: {
            try $0.confirmSame($1, &$2)
        }
    }

    /// Whether the command has sent that cancellation.
    func isCancelled(_ code: VerificationCancelCode, at device: String = "BOB") async -> Bool {
        await with(device) { $0.state == .cancelled(code: code, byPeer: true) }
    }
}
