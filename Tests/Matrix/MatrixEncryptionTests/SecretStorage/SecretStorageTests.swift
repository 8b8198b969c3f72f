import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

@Suite struct SecretStorageTests {
    private let vectors = Vectors.file("backup")
    private let key = RandomSource.system.secret(32)

    private func view(_ text: String) throws -> JSONView { try #require(JSONView(Array(text.utf8))) }

    // MARK: Keys

    @Test func keysAreDerivedAndCheckedAsElsewhere() throws {
        for vector in try vectors.value("secret_storage").list("keys") {
            let key = SecretBytes(try vector.hex("key"))
            let description = try SecretStorageKeyDescription(try vector.value("description"))
            if let passphrase = vector["passphrase"]?.string {
                let derivation = try #require(description.passphrase)
                #expect(try derivation.key(passphrase) == key)
                #expect(derivation.isWeak)
            }
            #expect(try RecoveryKey.text(of: key) == vector.text("recovery_key"))
            #expect(try description.check(key) == .passed)
            for wrong in [
                RandomSource.system.secret(32), SecretBytes([UInt8](repeating: 0, count: 32)), SecretBytes([1]),
            ] {
                #expect(throws: EncryptionError.wrongKey) { try description.check(wrong) }
            }
            let again = try SecretStorageKeyDescription(description.json)
            #expect(again == description)
        }
    }

    @Test func aNewKeyComesFromItsPassphraseAgain() throws {
        let derivation = PassphraseDerivation(random: .system, iterations: 1_000)
        let key = try derivation.key("pässwörd ✓")
        let made = SecretStorageKeyDescription(of: key, name: "mine", passphrase: derivation, random: .system)
        let read = try SecretStorageKeyDescription(made.json)
        #expect(read == made && read.name == "mine")
        let again = try #require(read.passphrase)
        #expect(try again.key("pässwörd ✓") == key)
        #expect(try read.check(key) == .passed)
        #expect(throws: EncryptionError.wrongKey) { try read.check(again.key("password ✓")) }
        #expect(PassphraseDerivation(random: .system).iterations == 500_000)
        #expect(!PassphraseDerivation(random: .system).isWeak)
    }

    @Test(.rule("R35")) func aKeyWithoutACheckIsNeitherRightNorWrong() throws {
        let whole = SecretStorageKeyDescription(of: key, random: .system).json
        for missing in ["iv", "mac"] {
            var rest = JSONWriter()
            for (name, value) in whole.members where name != missing { rest.add(name, value) }
            #expect(try SecretStorageKeyDescription(rest.view).check(key) == .impossible)
        }
        let weak = try SecretStorageKeyDescription(
            try view(
                """
                {"algorithm":"m.secret_storage.v1.aes-hmac-sha2",
                "passphrase":{"algorithm":"m.pbkdf2","salt":"s","iterations":99999}}
                """))
        #expect(weak.passphrase?.isWeak == true)
    }

    @Test(
        arguments: [
            (#""algorithm":"m.pbkdf2","iterations":10,"bits":255"#, .passphrase),
            (#""algorithm":"m.pbkdf2","iterations":10,"bits":512"#, .passphrase),
            (#""algorithm":"m.pbkdf2","iterations":10,"bits":"256""#, .passphrase),
            (#""algorithm":"m.argon2","iterations":10"#, .passphrase),
            (#""iterations":10"#, .passphrase),
            (#""algorithm":"m.pbkdf2","iterations":0"#, .rounds),
            (#""algorithm":"m.pbkdf2","iterations":-1"#, .rounds),
            (#""algorithm":"m.pbkdf2","iterations":10000001,"bits":256"#, .rounds),
            (#""algorithm":"m.pbkdf2","iterations":9007199254740993"#, .rounds),
        ] as [(String, EncryptionError)])
    func otherWaysFromAPassphraseAreRefused(members: String, why: EncryptionError) throws {
        let description = try SecretStorageKeyDescription(
            try view(#"{"algorithm":"m.secret_storage.v1.aes-hmac-sha2","passphrase":{"salt":"s",\#(members)}}"#))
        #expect(throws: why) { try description.passphrase?.key("p") }
    }

    @Test(
        arguments: [
            (#"{"algorithm":"m.secret_storage.v2"}"#, .algorithm), ("{}", .algorithm), ("[]", .algorithm),
            (#"{"algorithm":"m.secret_storage.v1.aes-hmac-sha2","iv":"AAAA","mac":"AAAA"}"#, .fieldLength),
            (#"{"algorithm":"m.secret_storage.v1.aes-hmac-sha2","iv":"?","mac":"AAAA"}"#, .base64),
            (#"{"algorithm":"m.secret_storage.v1.aes-hmac-sha2","passphrase":{"salt":"s"}}"#, .missingField),
        ] as [(String, EncryptionError)])
    func damagedDescriptionsAreRefused(text: String, why: EncryptionError) throws {
        #expect(throws: why) { try SecretStorageKeyDescription(try view(text)) }
    }

    // MARK: Secrets

    @Test func secretsAreWrittenAndReadAsElsewhere() throws {
        let storage = try vectors.value("secret_storage")
        for vector in try storage.list("secrets") {
            let (name, key) = (try vector.text("name"), SecretBytes(try vector.hex("key")))
            let plaintext = SecretBytes(try vector.text("plaintext").utf8)
            #expect(try EncryptedSecret(try vector.value("encrypted")).decrypt(name: name, key: key) == plaintext)
            guard let iv = vector["iv"]?.string, !iv.isEmpty else { continue }
            let made = EncryptedSecret(plaintext, name: name, key: key, random: .fixed(try vector.hex("iv")))
            #expect(try CanonicalJSON.bytes(of: made.json) == CanonicalJSON.bytes(of: vector.value("encrypted")))
        }
    }

    @Test(.rule("R30")) func aSecretOfAnotherNameOrKeyIsRefused() throws {
        for vector in try vectors.value("secret_storage").list("refused") {
            let (name, key) = (try vector.text("name"), SecretBytes(try vector.hex("key")))
            try expectRefusal(vector, name) {
                _ = try EncryptedSecret(try vector.value("encrypted")).decrypt(name: name, key: key)
            }
        }
        let names = [
            "m.cross_signing.master", "m.cross_signing.self_signing", "m.cross_signing.user_signing",
            "m.megolm_backup.v1", "",
        ]
        for name in names {
            let secret = EncryptedSecret(key: self.key, name: name, key: key, random: .system)
            #expect(try secret.decryptKey(name: name, key: key) == self.key)
            for other in names where other != name {
                #expect(throws: EncryptionError.mac) { try secret.decrypt(name: other, key: key) }
            }
        }
    }

    @Test func everyFlippedByteOfCiphertextAndCodeIsRefused() throws {
        let secret = EncryptedSecret(key: RandomSource.system.secret(32), name: "n", key: key, random: .system)
        for part in ["ciphertext", "mac"] {
            let bytes = try UnpaddedBase64.decode(try secret.json.text(part))
            for index in bytes.indices {
                var changed = bytes
                changed[index] ^= 1
                var json = JSONWriter()
                for (name, value) in secret.json.members {
                    if name == part { json.add(name, UnpaddedBase64.encode(changed)) } else { json.add(name, value) }
                }
                #expect(throws: EncryptionError.mac) { try EncryptedSecret(json.view).decrypt(name: "n", key: key) }
            }
            var cut = JSONWriter()
            for (name, value) in secret.json.members where name != part { cut.add(name, value) }
            #expect(throws: EncryptionError.missingField) { try EncryptedSecret(cut.view) }
        }
    }

    /// Nothing authenticates the IV: a key must be compared with its public half.
    @Test func aFlippedIVGivesAnotherKey() throws {
        let seed = RandomSource.system.secret(32)
        let secret = EncryptedSecret(seed, name: "n", key: key, random: .system)
        var json = JSONWriter()
        for (name, value) in secret.json.members where name != "iv" { json.add(name, value) }
        json.add("iv", UnpaddedBase64.encode([UInt8](repeating: 1, count: 16)))
        #expect(try EncryptedSecret(json.view).decrypt(name: "n", key: key) != seed)
    }

    @Test func secretsLieUnderTheIdOfTheirKey() throws {
        let secret = EncryptedSecret(key: key, name: "n", key: key, random: .system)
        let content = secret.content(keyID: "abc")
        #expect(try EncryptedSecret(in: content, keyID: "abc") == secret)
        #expect(throws: EncryptionError.missingField) { try EncryptedSecret(in: content, keyID: "abd") }
        let text = EncryptedSecret(SecretBytes("no key".utf8), name: "n", key: key, random: .system)
        #expect(throws: EncryptionError.base64) { try text.decryptKey(name: "n", key: key) }
        let short = EncryptedSecret(SecretBytes("AAAA".utf8), name: "n", key: key, random: .system)
        #expect(throws: EncryptionError.keyLength) { try short.decryptKey(name: "n", key: key) }
    }

    @Test func bit63OfEachIVIsClear() throws {
        for _ in 0..<100 {
            let secret = EncryptedSecret(key, name: "n", key: key, random: .system)
            #expect(try UnpaddedBase64.decode(try secret.json.text("iv"))[8] < 0x80)
        }
    }
}
