import EncryptionTestSupport
import JSONBytes
import Testing

@testable import MatrixEncryption

/// Two users with cross-signing keys who know each other's devices.
struct VerificationScene {
    let server = KeyServer()
    let (alice, bob): (TestDevice, TestDevice)

    init() throws {
        (alice, bob) = (try TestDevice("@alice:s", "A", on: server), try TestDevice("@bob:s", "B", on: server))
        for device in [alice, bob] {
            try device.encryptRoom("!r:s")
            try device.makeIdentity()
        }
        try alice.know("@bob:s")
        try bob.know("@alice:s")
        for device in [alice, bob] { device.takeNotices() }
    }

    /// Logs a user in on a new device.
    func join(_ user: String, _ id: String) throws -> TestDevice {
        let device = try TestDevice(user, id, on: server)
        try device.encryptRoom("!r:s")
        for other in [alice, bob] { try other.sync() }
        return device
    }

    /// Goes from the request to the comparison.
    func compare(_ one: TestDevice, _ other: TestDevice, device: String? = nil) throws {
        try one.requestVerification(of: other.address.user, device: device ?? other.address.device)
        try other.sync()
        try other.acceptVerification()
        try one.sync()
        try one.startComparing()
        try exchange(one, other)
    }

    func exchange(_ devices: TestDevice...) throws {
        for _ in 0..<4 { for device in devices { try device.sync() } }
    }
}

extension KeyServer {
    /// Alters messages that are pending at the server for a device; `nil` drops one.
    func change(
        _ type: String, to address: DeviceAddress, _ body: (JSONView) throws -> JSONView?
    ) rethrows {
        guard let messages = devices[address]?.messages else { return }
        devices[address]?.messages = try messages.compactMap { message in
            guard message["type"]?.string == "m.key.verification." + type, let content = message["content"] else {
                return message
            }
            return try body(content).map { content in
                object { writer in
                    for (key, value) in message.members where key != "content" { writer.add(key, value) }
                    writer.add("content", content)
                }
            }
        }
    }

    /// Adds a verification message for a device.
    func inject(_ type: String, _ content: JSONView, from user: String, to address: DeviceAddress) {
        inject(
            object { writer in
                writer.add("type", "m.key.verification." + type)
                writer.add("sender", user)
                writer.add("content", content)
            }, to: address)
    }

    func types(to address: DeviceAddress) -> [String] {
        messages(to: address).compactMap { $0["type"]?.string }.filter { $0.hasPrefix("m.key.verification.") }
            .map { String($0.dropFirst("m.key.verification.".count)) }
    }

    func cancelCodes(to address: DeviceAddress) -> [String] {
        messages(to: address).filter { $0["type"]?.string == "m.key.verification.cancel" }
            .compactMap { $0["content"]?["code"]?.string }
    }
}

extension TestDevice {
    /// The newest verification.
    var verification: Verification { get throws { try #require(machine.verifications.last) } }
    var state: Verification.State { get throws { try verification.state } }

    @discardableResult
    func requestVerification(of user: String, device: String? = nil) throws -> Verification.ID {
        defer { try? pump() }
        return try turn { try $0.requestVerification(of: user, device: device, &$1) }
    }

    func acceptVerification() throws { try command { try $0.acceptVerification($1, &$2) } }
    func startComparing() throws { try command { try $0.startComparing($1, &$2) } }
    func confirmSame() throws { try command { try $0.confirmSame($1, &$2) } }
    func confirmScanned() throws { try command { try $0.confirmScanned($1, &$2) } }
    func scan(_ code: [UInt8]) throws { try command { try $0.scanned(code, $1, &$2) } }
    func cancelVerification(_ code: VerificationCancelCode = .user) throws {
        try command { try $0.cancelVerification($1, code, &$2) }
    }

    private func command(
        _ body: (inout CryptoMachine, Verification.ID, inout CryptoTurn) throws -> Void
    ) throws {
        let id = try verification.id
        try turn { try body(&$0, id, &$1) }
        try pump()
    }

    /// The last verification after a message, which is not stored.
    func stateAfter(_ type: String, _ content: JSONView, from user: String) throws -> Verification.State {
        var (machine, turn) = (machine, CryptoTurn(Records(records), now: now, random: .system))
        try machine.receive(verification: "m.key.verification." + type, content, from: user, &turn)
        let state = try #require(machine.verifications.last).state
        #expect(!turn.notices.contains(.trustChanged(user: user)))
        return state
    }

    func wait(_ milliseconds: UInt64) throws {
        now += milliseconds
        try turn { try $0.timePassed(&$1) }
        try pump()
    }

    /// The values that both users compare.
    var shown: [Int] {
        get throws {
            guard case .comparing(let emoji, let decimals, _) = try state else { return [] }
            return emoji.map(\.index) + decimals
        }
    }

    var isComparing: Bool { get throws { try !shown.isEmpty } }

    var code: [UInt8]? {
        get throws {
            guard case .ready(_, _, let code) = try state else { return nil }
            return code?.bytes
        }
    }

    /// Receives unencrypted events of rooms from a position on.
    func readRooms(from start: Int = 0, to end: Int? = nil) throws {
        for event in server.timeline[start..<(end ?? server.timeline.count)] {
            try take(event, content: event.content, sessionId: nil)
        }
        try pump()
    }

    func take(_ event: KeyServer.RoomEvent, content: JSONView, sessionId: String?) throws {
        let event = VerificationRoomEvent(
            roomId: event.roomId, eventId: event.eventId, sender: event.sender.user, sessionId: sessionId, time: now,
            type: event.type, content: content)
        try turn { try $0.receive(event, &$1) }
    }
}

extension Verification.State {
    var isReady: Bool {
        if case .ready = self { true } else { false }
    }

    var emoji: [SASEmoji] {
        if case .comparing(let emoji, _, _) = self { emoji } else { [] }
    }

    /// `nil` unless it was cancelled here.
    var ownCode: VerificationCancelCode? {
        if case .cancelled(let code, false) = self { code } else { nil }
    }

    /// `nil` unless the other side cancelled.
    var peersCode: VerificationCancelCode? {
        if case .cancelled(let code, true) = self { code } else { nil }
    }
}

extension JSONView {
    /// A copy with other values for some members; `nil` removes one.
    func with(_ changes: [String: String?]) -> JSONView {
        object { writer in
            for (key, value) in members where changes[key] == nil { writer.add(key, value) }
            for (key, json) in changes { if let json { writer.add(key, json: json) } }
        }
    }
}
