import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

@Suite struct SignedJSONTests {
    private let vectors = Vectors.file("signed_json")

    private func pair(_ vector: JSONView) throws -> Ed25519KeyPair {
        try Ed25519KeyPair(seed: SecretBytes(try vector.hex("seed")))
    }

    private func key(_ vector: JSONView) throws -> Ed25519PublicKey {
        try Ed25519PublicKey(base64: try vector.text("public"))
    }

    private func object(_ text: String) throws -> JSONView { try #require(JSONView(Array(text.utf8))) }

    @Test func objectsAreSignedAsElsewhere() throws {
        for vector in try vectors.list("signed") {
            let (user, id) = (try vector.text("user"), try vector.text("key_id"))
            let signed = try SignedJSON.sign(
                try vector.value("object"), with: try pair(vector), user: user, keyID: id)
            #expect(try CanonicalJSON.bytes(of: signed) == CanonicalJSON.bytes(of: vector.value("signed")))
            for object in [signed, try vector.value("signed")] {
                try SignedJSON.verify(object, with: try pair(vector).publicKey, user: user, keyID: id)
            }
        }
    }

    @Test(.rule("R11")) func otherSignaturesAndOtherKeysAreRefused() throws {
        for vector in try vectors.list("verify_refused") {
            let (name, user, id) = (try vector.text("name"), try vector.text("user"), try vector.text("key_id"))
            try expectRefusal(vector, name) {
                try SignedJSON.verify(try vector.value("signed"), with: try key(vector), user: user, keyID: id)
            }
        }
    }

    @Test func signingKeepsOtherSignaturesOrLeavesThemOut() throws {
        let (first, second) = (Ed25519KeyPair(random: .system), Ed25519KeyPair(random: .system))
        let once = try SignedJSON.sign(
            try object(#"{"a":1,"unsigned":{"f":1.5}}"#), with: first, user: "@a:b", keyID: "ed25519:1")
        let twice = try SignedJSON.sign(once, with: second, user: "@a:b", keyID: "ed25519:2")
        try SignedJSON.verify(twice, with: first.publicKey, user: "@a:b", keyID: "ed25519:1")
        try SignedJSON.verify(twice, with: second.publicKey, user: "@a:b", keyID: "ed25519:2")
        #expect(twice["unsigned"]?["f"]?.double == 1.5)

        let alone = try SignedJSON.sign(once, with: second, user: "@a:b", keyID: "ed25519:2", keepsOthers: false)
        #expect(alone["signatures"]?["@a:b"]?.members.map(\.key) == ["ed25519:2"])
        let again = try SignedJSON.sign(once, with: second, user: "@a:b", keyID: "ed25519:1")
        #expect(throws: EncryptionError.signature) {
            try SignedJSON.verify(again, with: first.publicKey, user: "@a:b", keyID: "ed25519:1")
        }
    }

    @Test func everyChangedByteOfWhatIsSignedIsRefused() throws {
        let pair = Ed25519KeyPair(random: .system)
        let signed = try SignedJSON.sign(
            try object(#"{"user_id":"@a:b","keys":{"x":"yz"},"n":17}"#), with: pair, user: "u", keyID: "ed25519:1")
        let text = Array(signed.data)
        let reference = try CanonicalJSON.bytes(of: signed)
        for index in text.indices {
            var changed = text
            changed[index] ^= 1
            guard let view = JSONView(changed), (try? CanonicalJSON.bytes(of: view)) != reference else { continue }
            #expect(throws: EncryptionError.self, "\(index)") {
                try SignedJSON.verify(view, with: pair.publicKey, user: "u", keyID: "ed25519:1")
            }
        }
    }

    @Test func onlyObjectsAreSigned() throws {
        let pair = Ed25519KeyPair(random: .system)
        for text in ["[]", "1", #""text""#] {
            #expect(throws: EncryptionError.notJSON) {
                try SignedJSON.sign(try object(text), with: pair, user: "u", keyID: "ed25519:1")
            }
        }
    }

    /// `==` treats U+212A as K, and so confuses two users.
    @Test func namesThatOnlyLookAlikeDiffer() throws {
        let pair = Ed25519KeyPair(random: .system)
        let signed = try SignedJSON.sign(try object("{}"), with: pair, user: "@K:b", keyID: "ed25519:1")
        #expect(throws: EncryptionError.noSignature) {
            try SignedJSON.verify(signed, with: pair.publicKey, user: "@\u{212A}:b", keyID: "ed25519:1")
        }
        let device = try DeviceKeys(
            userID: "@K:b", deviceID: "KEY", identityKey: Curve25519KeyPair(random: .system).publicKey,
            fingerprint: pair)
        #expect(throws: EncryptionError.ids) { try DeviceKeys(device.json, user: "@\u{212A}:b") }
        #expect(throws: EncryptionError.ids) { try DeviceKeys(device.json, user: "@K:b", device: "\u{212A}EY") }
    }
}
