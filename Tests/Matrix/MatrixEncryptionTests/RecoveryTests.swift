import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Setting up recovery, and coming back with it on a new device.
@Suite struct RecoveryTests {
    private let server = KeyServer()
    private let alice: TestDevice

    init() throws {
        alice = try TestDevice("@alice:s", "A", on: server)
        try alice.makeIdentity()
    }

    private func stored(under key: RecoveryStorageKey) throws -> [String: JSONView] {
        let changes = try alice.turn { try $0.storeSecrets(under: key, &$1) }
        #expect(changes.first?.type == "m.secret_storage.key." + key.id)
        #expect(changes.last?.type == "m.secret_storage.default_key")
        return Dictionary(changes.map { ($0.type, $0.content) }) { $1 }
    }

    @Test(arguments: [nil, "correct horse"] as [String?])
    func aNewDeviceGetsItsKeysBack(passphrase: String?) throws {
        let made = try RecoveryStorageKey(passphrase: passphrase, iterations: 1_000, random: .system)
        let data = try stored(under: made)
        for text in [made.recoveryKey, passphrase].compactMap(\.self) {
            let second = try TestDevice("@alice:s", "N\(text.utf8.count)", on: server)
            let opened = try RecoveryStorageKey(opening: { data[$0] }, with: text)
            #expect(opened.isChecked)
            let result = try second.turn { try $0.takeSecrets(from: { data[$0] }, with: opened, &$1) }
            #expect(result.taken == [.master, .selfSigning, .userSigning] && result.refused.isEmpty)
            #expect(try second.ownIdentity == .complete)
            try second.pump()
            try alice.sync()
            #expect(try alice.trust(second).isVerified)
        }
    }

    @Test func wrongKeysOpenNothing() throws {
        let data = try stored(under: RecoveryStorageKey(random: .system))
        let other = try RecoveryStorageKey(random: .system).recoveryKey
        #expect(throws: EncryptionError.wrongKey) {
            try RecoveryStorageKey(opening: { data[$0] }, with: other)
        }
        #expect(throws: EncryptionError.base58) {
            try RecoveryStorageKey(opening: { data[$0] }, with: "no key at all, 0")
        }
        #expect(throws: EncryptionError.missingField) {
            try RecoveryStorageKey(opening: { _ in nil }, with: other)
        }
    }

    @Test(.rule("R30")) func aSecretThatTheServerMovesIsRefused() throws {
        let key = try RecoveryStorageKey(random: .system)
        var data = try stored(under: key)
        data["m.cross_signing.master"] = data["m.cross_signing.self_signing"]
        let second = try TestDevice("@alice:s", "A2", on: server)
        let result = try second.turn { try $0.takeSecrets(from: { data[$0] }, with: key, &$1) }
        #expect(result.refused == [.master])
        #expect(try second.ownIdentity == .untrusted)
    }

    @Test(.rule("R35")) func underAKeyThatCannotBeCheckedNothingIsStored() throws {
        let key = try RecoveryStorageKey(random: .system)
        var data = try stored(under: key)
        data["m.secret_storage.key." + key.id] = object { $0.add("algorithm", SecretStorageKeyDescription.algorithm) }
        let opened = try RecoveryStorageKey(opening: { data[$0] }, with: key.recoveryKey)
        #expect(!opened.isChecked)
        #expect(throws: EncryptionError.untrusted) { try alice.turn { try $0.storeSecrets(under: opened, &$1) } }
        // Reading is harmless: the result is validated.
        let second = try TestDevice("@alice:s", "A2", on: server)
        let result = try second.turn { try $0.takeSecrets(from: { data[$0] }, with: opened, &$1) }
        #expect(result.taken.count == 3)
    }

    /// Whenever writing is interrupted, the named key decrypts everything.
    @Test func aRecoveryIsReplacedWithoutAGap() throws {
        let former = try RecoveryStorageKey(random: .system)
        var data = try stored(under: former)
        let new = try RecoveryStorageKey(random: .system)
        let changes = try alice.turn { [data] in try $0.storeSecrets(under: new, replacing: { data[$0] }, &$1) }
        for (index, change) in changes.enumerated() {
            data[change.type] = change.content
            let named = data["m.secret_storage.default_key"]?["key"]?.string == new.id ? new : former
            let opened = try RecoveryStorageKey(opening: { data[$0] }, with: named.recoveryKey)
            let device = try TestDevice("@alice:s", "N\(index)", on: server)
            let result = try device.turn { [data] in try $0.takeSecrets(from: { data[$0] }, with: opened, &$1) }
            #expect(result.taken.count == 3 && result.refused.isEmpty, "after \(index + 1) writes")
        }
        let all = SecretName.allCases.compactMap { data[$0.rawValue]?["encrypted"]?.members.map(\.key) }
        #expect(all == Array(repeating: [new.id], count: 3))
        #expect(throws: EncryptionError.wrongKey) {
            try RecoveryStorageKey(opening: { data[$0] }, with: former.recoveryKey)
        }
    }
}
