import Basics
import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

@Suite struct KeyBackupTests {
    private let vectors = Vectors.file("backup")

    private func pair() throws -> Curve25519KeyPair {
        try Curve25519KeyPair(privateKey: SecretBytes(try vectors.value("backup").hex("private")))
    }

    @Test func theBackupKeyHasItsTexts() throws {
        let vector = try vectors.value("backup")
        let pair = try pair()
        #expect(try pair.publicKey.base64 == vector.text("public"))
        #expect(try UnpaddedBase64.encode(pair.privateKey) == vector.text("private_base64"))
        #expect(try RecoveryKey.text(of: pair.privateKey) == vector.text("recovery_key"))
    }

    @Test func sessionsAreWrittenAndReadAsElsewhere() throws {
        for vector in try vectors.value("backup").list("sessions") {
            let plaintext = SecretBytes(try vector.text("plaintext").utf8)
            #expect(try KeyBackup.decrypt(try vector.value("session_data"), with: pair()) == plaintext)
            guard vector["ephemeral_private"]?.string != nil else { continue }
            let data = try KeyBackup.encrypt(
                plaintext, for: pair().publicKey, random: .fixed(try vector.hex("ephemeral_private")))
            #expect(try CanonicalJSON.bytes(of: data) == CanonicalJSON.bytes(of: vector.value("session_data")))
        }
        for vector in try vectors.value("backup").list("refused") {
            try expectRefusal(vector, try vector.text("name")) {
                _ = try KeyBackup.decrypt(try vector.value("session_data"), with: try pair())
            }
        }
    }

    /// Nothing authenticates the ciphertext: the plaintext must be validated, and is never trusted.
    @Test func aDamagedEntryDecryptsAndIsRefusedAsSession() throws {
        let vector = try vectors.value("backup").value("not_authenticated")
        let text = try KeyBackup.decrypt(try vector.value("session_data"), with: try pair())
        #expect(try text == SecretBytes(vector.hex("plain_hex")))
        #expect(throws: EncryptionError.notJSON) { try ExportedSession(text, roomID: "!r:hs") }
    }

    @Test func anyTextComesBack() throws {
        var generator = XorShift(seed: 15)
        let pair = Curve25519KeyPair(random: .system)
        for length in 0..<100 {
            let text = SecretBytes([UInt8].random(length, using: &generator))
            let data = try KeyBackup.encrypt(text, for: pair.publicKey, random: .system)
            #expect(try KeyBackup.decrypt(data, with: pair) == text)
            #expect(throws: EncryptionError.mac) {
                try KeyBackup.decrypt(data, with: Curve25519KeyPair(random: .system))
            }
        }
        #expect(throws: EncryptionError.missingField) { try KeyBackup.decrypt(.nothing, with: pair) }
        #expect(throws: EncryptionError.lowOrder) {
            let zero = try Curve25519PublicKey([UInt8](repeating: 0, count: 32))
            _ = try KeyBackup.encrypt(SecretBytes([1]), for: zero, random: .system)
        }
    }

    // MARK: Trust in a backup

    @Test func signaturesOfAuthDataAreChecked() throws {
        for vector in try vectors.list("auth_data") {
            let data = try KeyBackupAuthData(try vector.value("auth_data"))
            let (user, id) = (try vector.text("user"), try vector.text("key_id"))
            let key = try Ed25519PublicKey(base64: try vector.text("public"))
            #expect(data.isTrusted(user: user, trusted: [ByteKey(id): key]))
            #expect(!data.isTrusted(user: "@eve:hs.test", trusted: [ByteKey(id): key]))
            #expect(!data.isTrusted(user: user, trusted: [ByteKey("ed25519:X"): key]))
            #expect(!data.isTrusted(user: user, trusted: [:]))
            #expect(data.isTrusted(user: user, trusted: [:], privateKey: try pair()))
            #expect(!data.isTrusted(user: user, trusted: [:], privateKey: Curve25519KeyPair(random: .system)))
        }
        #expect(throws: EncryptionError.keys) { try KeyBackupAuthData(.nothing) }
    }

    @Test(.rule("R34")) func aSwappedPublicKeyIsNotTrusted() throws {
        let device = Ed25519KeyPair(random: .system)
        let trusted = [ByteKey("ed25519:DEV"): device.publicKey]
        let own = Curve25519KeyPair(random: .system)
        let data = try KeyBackupAuthData(publicKey: own.publicKey).signed(
            by: device, user: "@a:hs", keyID: "ed25519:DEV")
        #expect(data.isTrusted(user: "@a:hs", trusted: trusted))

        let servers = Curve25519KeyPair(random: .system).publicKey
        var swapped = JSONWriter()
        swapped.add("public_key", servers.base64)
        swapped.add("signatures", try #require(data.json["signatures"]))
        #expect(try !KeyBackupAuthData(swapped.view).isTrusted(user: "@a:hs", trusted: trusted, privateKey: own))
        let unsigned = KeyBackupAuthData(publicKey: servers)
        #expect(!unsigned.isTrusted(user: "@a:hs", trusted: trusted, privateKey: own))
        let stranger = try unsigned.signed(by: Ed25519KeyPair(random: .system), user: "@a:hs", keyID: "ed25519:DEV")
        #expect(!stranger.isTrusted(user: "@a:hs", trusted: trusted, privateKey: own))
    }
}
