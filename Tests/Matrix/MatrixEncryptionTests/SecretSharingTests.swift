import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Secrets shared between a user's devices.
@Suite struct SecretSharingTests {
    private let server = KeyServer()
    private let alice: TestDevice
    private let names = ["m.cross_signing.master", "m.cross_signing.user_signing", "m.megolm_backup.v1"]

    init() throws {
        alice = try TestDevice("@alice:s", "A", on: server)
        try alice.makeIdentity()
        try alice.makeBackup()
    }

    private func request(_ name: String, from device: String, id: String = "r", action: String = "request") -> JSONView
    {
        object { writer in
            writer.add("name", name)
            writer.add("action", action)
            writer.add("requesting_device_id", device)
            writer.add("request_id", id)
        }
    }

    @Test func aDeviceThatWasVerifiedGetsAllSecrets() throws {
        let second = try alice.second()
        try second.checkBackup()
        #expect(try second.ownIdentity == .untrusted)
        try alice.verify(second)
        second.takeNotices()
        try second.sync()
        #expect(try second.ownIdentity == .complete)
        #expect(
            Set(second.notices.compactMap { if case .secretReceived(let name) = $0 { name } else { nil } })
                == Set(SecretName.allCases))
        #expect(try second.secret(.backup) == alice.secret(.backup))
        #expect(try second.backupState == .ready(version: "1"))
        try alice.sync()
        try second.sync()
        #expect(try second.turn { try $0.requests(&$1) }.isEmpty)
        #expect(try second.turn { try $1.records.values(SecretRequestRecord.self).isEmpty })
    }

    @Test func theBackupsKeyIsAskedForWhenThereIsOne() throws {
        let second = try alice.second()
        try alice.verify(second)
        try second.sync()
        #expect(try second.secret(.backup) == nil)
        try second.checkBackup()
        try alice.sync()
        try second.sync()
        #expect(try second.secret(.backup) != nil)
    }

    @Test(.rule("R31")) func nobodyElseIsAnswered() throws {
        let bob = try TestDevice("@bob:s", "B", on: server)
        let second = try alice.second()
        for (number, name) in names.enumerated() {
            alice.inject("m.secret.request", from: "@alice:s", request(name, from: "A2", id: "\(number)"))
            alice.inject("m.secret.request", from: "@bob:s", request(name, from: "B", id: "\(number)"))
            // From another user who names our device.
            alice.inject("m.secret.request", from: "@bob:s", request(name, from: "A2", id: "b\(number)"))
        }
        let requests = server.requests.count
        try alice.sync()
        try alice.sync()
        #expect(server.messages(to: second.address).isEmpty && server.messages(to: bob.address).isEmpty)
        #expect(server.requests.count == requests)
        // Unknown names from a verified device.
        try alice.verify(second)
        try second.sync()
        for name in ["m.other", "", "m.megolm_backup.v1\u{301}"] {
            alice.inject("m.secret.request", from: "@alice:s", request(name, from: "A2", id: name))
        }
        try alice.sync()
        #expect(server.messages(to: second.address).allSatisfy { $0["type"]?.string == "m.secret.request" })
    }

    @Test(.rule("R31")) func aBlockedDeviceIsNotAnswered() throws {
        let second = try alice.second()
        try alice.turn { try $0.signDevice("A2", &$1) }
        try alice.turn { try $0.setTrust(.blocked, of: second.address, &$1) }
        alice.inject("m.secret.request", from: "@alice:s", request(names[0], from: "A2"))
        try alice.sync()
        #expect(server.messages(to: second.address).isEmpty)
    }

    @Test func aSecretThatIsNoneOfOursIsRefused_andTheRightOneIsTakenStill() throws {
        let second = try alice.second()
        let liar = try alice.second("A3")
        try alice.turn { try $0.signDevice("A3", &$1) }
        try alice.pump()
        try second.checkBackup()
        try second.sync()
        try second.turn { machine, turn in
            let own = try #require(try turn.records.value(IdentityRecord.self, key: "@alice:s"))
            try machine.trustOwnIdentity(own, &turn)
        }
        try second.pump()
        let requests = try second.turn { try $1.records.values(SecretRequestRecord.self).map(\.value) }
        #expect(requests.count == 4 && requests.allSatisfy { Set($0.devices) == ["A", "A3"] })
        for request in requests {
            let secret = object { writer in
                writer.add("request_id", request.id)
                writer.add("secret", UnpaddedBase64.encode([UInt8](repeating: 7, count: 32)))
            }
            try liar.sendSecretly("m.secret.send", secret, to: second)
        }
        second.takeNotices()
        try second.sync()
        #expect(second.dropped == [.wrongKey, .wrongKey, .wrongKey, .wrongKey])
        for name in SecretName.allCases { #expect(try second.secret(name) == nil) }
        try alice.turn { try $0.signDevice("A2", &$1) }
        try alice.pump()
        try alice.sync()
        try second.sync()
        #expect(try second.ownIdentity == .complete)
    }

    @Test func aSecretThatNobodyHasAskedForIsDropped() throws {
        let second = try alice.second()
        try alice.verify(second)
        try second.sync()
        let secret = object { writer in
            writer.add("request_id", "r")
            writer.add("secret", UnpaddedBase64.encode([UInt8](repeating: 7, count: 32)))
        }
        second.takeNotices()
        try alice.sendSecretly("m.secret.send", secret, to: second)
        let bob = try TestDevice("@bob:s", "B", on: server)
        try bob.sendSecretly("m.secret.send", secret, to: second)
        try second.sync()
        #expect(second.dropped == [.unasked, .untrusted])
    }

    @Test func aNewBackupsKeyIsAskedForAgain_andSoIsWhatTheUserWants() throws {
        let second = try alice.second()
        try second.checkBackup()
        try alice.verify(second)
        server.devices[second.address]?.messages = []  // the answers are lost
        try second.sync()
        #expect(try second.secret(.backup) == nil)
        try alice.makeBackup(isReplacement: true)
        try second.checkBackup()
        try alice.sync()
        try second.sync()
        #expect(try second.secret(.backup) == alice.secret(.backup))
        #expect(try second.ownIdentity == .trusted)
        try second.turn { try $0.requestMissingSecrets(&$1) }
        try second.pump()
        try alice.sync()
        try second.sync()
        #expect(try second.ownIdentity == .trusted)
        try second.turn { try $0.requestMissingSecrets(again: true, &$1) }
        try second.pump()
        try alice.sync()
        try second.sync()
        #expect(try second.ownIdentity == .complete)
    }

    @Test func onlyTheDevicesThatAreNamedAreAsked() throws {
        let (second, third) = (try alice.second(), try TestDevice("@alice:s", "A3", on: server))
        for device in [second, third] { try alice.verify(device) }
        for device in [second, third] { try device.sync() }
        #expect(throws: EncryptionError.unknownDevice) {
            try second.turn { try $0.requestMissingSecrets(again: true, of: ["NONE"], &$1) }
        }
        func requests(_ device: TestDevice) -> Int {
            device.waitingMessages("m.secret.request").count { $0["content"]?["action"]?.string == "request" }
        }
        try alice.makeBackup(isReplacement: true)
        try second.checkBackup()
        let (ofAlice, ofThird) = (requests(alice), requests(third))
        try second.turn { try $0.requestMissingSecrets(again: true, of: ["A3"], &$1) }
        try second.pump()
        #expect(requests(third) > ofThird)
        #expect(requests(alice) == ofAlice)
    }

    @Test func theStorageHoldsTheBackupsKey() throws {
        let key = try RecoveryStorageKey(random: .system)
        let changes = try alice.turn { try $0.storeSecrets(under: key, &$1) }
        let data = Dictionary(changes.map { ($0.type, $0.content) }) { $1 }
        let second = try TestDevice("@alice:s", "A2", on: server)
        try second.checkBackup()
        let result = try second.turn { try $0.takeSecrets(from: { data[$0] }, with: key, &$1) }
        #expect(Set(result.taken) == Set(SecretName.allCases))
        #expect(try second.backupState == .ready(version: "1"))
    }
}
