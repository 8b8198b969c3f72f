import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

/// Device keys, one-time keys and cross-signing keys.
@Suite struct KeyObjectTests {
    private let vectors = Vectors.file("signed_json")
    private let fingerprint = Ed25519KeyPair(random: .system)
    private let identityKey = Curve25519KeyPair(random: .system).publicKey

    private func device(_ id: String = "DEV") throws -> DeviceKeys {
        try DeviceKeys(userID: "@a:hs", deviceID: id, identityKey: identityKey, fingerprint: fingerprint)
    }

    /// The object with additional members, signed again.
    private func resigned(_ object: JSONView, adding json: String, keyID: String = "ed25519:DEV") throws -> JSONView {
        let text = String(decoding: object.data, as: UTF8.self)
        let view = try #require(JSONView(Array("{\(json),\(text.dropFirst())".utf8)))
        return try SignedJSON.sign(view, with: fingerprint, user: "@a:hs", keyID: keyID)
    }

    // MARK: Device keys

    @Test func deviceKeysOfAnotherOrWithoutTheirSignatureAreRefused() throws {
        for vector in try vectors.list("device_keys_refused") {
            try expectRefusal(vector, try vector.text("name")) {
                _ = try DeviceKeys(
                    try vector.value("device_keys"), user: try vector.text("user"), device: try vector.text("device"))
            }
        }
    }

    @Test func deviceKeysKeepWhatTheyHave() throws {
        let made = try device()
        let json = try resigned(
            made.json,
            adding: #""dehydrated":true,"org.example.new":[1],"unsigned":{"device_display_name":"Phone"}"#)
        let read = try DeviceKeys(json, user: "@a:hs")
        #expect(read.deviceID == "DEV")
        #expect(read.ed25519 == fingerprint.publicKey)
        #expect(read.curve25519 == identityKey)
        #expect(read.algorithms == ["m.olm.v1.curve25519-aes-sha2", "m.megolm.v1.aes-sha2"])
        #expect(read.displayName == "Phone")
        #expect(read.isDehydrated && !made.isDehydrated)
        #expect(read.json["org.example.new"]?[0]?.int == 1)
        #expect(try DeviceKeys(read.json, user: "@a:hs", device: "DEV") == read)
    }

    // MARK: One-time keys

    @Test func oneTimeKeysAreSignedByTheirDevice() throws {
        let key = Curve25519KeyPair(random: .system).publicKey
        for isFallback in [false, true] {
            let json = try SignedOneTimeKey.json(
                key, isFallback: isFallback, userID: "@a:hs", deviceID: "DEV", fingerprint: fingerprint)
            let read = try SignedOneTimeKey(json, of: try device())
            #expect(read.key == key)
            #expect(read.isFallback == isFallback)

            let stranger = try DeviceKeys(
                userID: "@a:hs", deviceID: "DEV", identityKey: identityKey, fingerprint: Ed25519KeyPair(random: .system)
            )
            #expect(throws: EncryptionError.signature) { try SignedOneTimeKey(json, of: stranger) }
            #expect(throws: EncryptionError.noSignature) { try SignedOneTimeKey(json, of: try device("OTHER")) }
        }
    }

    @Test(.rule("R12")) func objectsOfOneKindAreNotTakenForAnother() throws {
        let device = try device()
        let key = "\"key\":\"\(identityKey.base64)\""
        // Device keys that are also a one-time key, and the like: each is signed by the right key.
        let both = try resigned(device.json, adding: key)
        #expect(throws: EncryptionError.keys) { try SignedOneTimeKey(both, of: device) }
        let usage = try resigned(device.json, adding: #""usage":["master"]"#)
        #expect(throws: EncryptionError.keys) { try DeviceKeys(usage, user: "@a:hs") }
        #expect(throws: EncryptionError.ids) { try CrossSigningKey(usage, user: "@a:hs", usage: .master) }

        let oneTimeKey = try SignedOneTimeKey.json(
            identityKey, isFallback: false, userID: "@a:hs", deviceID: "DEV", fingerprint: fingerprint)
        // Declared a fallback key after signing.
        let text = String(decoding: oneTimeKey.data, as: UTF8.self)
        let renamed = try #require(JSONView(Array((#"{"fallback":true,"# + text.dropFirst()).utf8)))
        #expect(throws: EncryptionError.signature) { try SignedOneTimeKey(renamed, of: device) }
        let odd = try resigned(oneTimeKey, adding: #""fallback":"yes""#)
        #expect(throws: EncryptionError.keys) { try SignedOneTimeKey(odd, of: device) }

        let master = try CrossSigningKey(
            userID: "@a:hs", usage: .master, publicKey: fingerprint.publicKey, signedBy: nil)
        for usage in [CrossSigningUsage.selfSigning, .userSigning] {
            #expect(throws: EncryptionError.keys) { try CrossSigningKey(master.json, user: "@a:hs", usage: usage) }
        }
    }

    // MARK: Cross-signing

    @Test func chainsOfSignaturesLeadFromOneDeviceToAnother() throws {
        for vector in try vectors.list("chains") {
            let objects = try vector.value("objects")
            func key(_ user: String, _ usage: CrossSigningUsage) throws -> CrossSigningKey {
                try CrossSigningKey(
                    try objects.value("\(user) \(usage.rawValue)"), user: "@\(user):hs.test", usage: usage)
            }
            func device(_ user: String, _ id: String) throws -> DeviceKeys {
                try DeviceKeys(try objects.value("\(user) device"), user: "@\(user):hs.test", device: id)
            }
            for (name, seed) in try vector.value("seeds").members {
                let parts = name.split(separator: " ").map(String.init)
                let usages: [String: CrossSigningUsage] = ["msk": .master, "ssk": .selfSigning, "usk": .userSigning]
                let usage = try #require(usages[parts[1]])
                let pair = try Ed25519KeyPair(seed: SecretBytes(try Hexadecimal.bytes(try #require(seed.string))))
                #expect(try key(parts[0], usage).publicKey == pair.publicKey)
            }
            for signature in try vector.list("signatures") {
                try SignedJSON.verify(
                    try objects.value(try signature.text("object")),
                    with: try Ed25519PublicKey(base64: try signature.text("public")),
                    user: try signature.text("user"), keyID: "ed25519:" + signature.text("key"))
            }

            try key("alice", .selfSigning).verifySignature(by: key("alice", .master))
            try key("alice", .userSigning).verifySignature(by: key("alice", .master))
            try device("alice", "ALICEDEV").verifySignature(by: key("alice", .selfSigning))
            try key("bob", .master).verifySignature(by: key("alice", .userSigning))
            try key("bob", .selfSigning).verifySignature(by: key("bob", .master))
            try device("bob", "BOBDEV").verifySignature(by: key("bob", .selfSigning))

            #expect(throws: EncryptionError.ids) {
                try device("bob", "BOBDEV").verifySignature(by: key("alice", .selfSigning))
            }
            #expect(throws: EncryptionError.ids) {
                try device("bob", "BOBDEV").verifySignature(by: key("bob", .master))
            }
            #expect(throws: EncryptionError.ids) {
                try key("bob", .selfSigning).verifySignature(by: key("alice", .userSigning))
            }
            #expect(throws: EncryptionError.ids) {
                try key("bob", .selfSigning).verifySignature(by: key("alice", .master))
            }
            #expect(throws: EncryptionError.ids) {
                try key("alice", .master).verifySignature(by: key("alice", .userSigning))
            }
        }
    }

    @Test(.rule("R11")) func aKeySignedByAnotherMasterKeyIsRefused() throws {
        let (master, other) = (Ed25519KeyPair(random: .system), Ed25519KeyPair(random: .system))
        func key(_ usage: CrossSigningUsage, _ pair: Ed25519KeyPair, by signer: Ed25519KeyPair?) throws
            -> CrossSigningKey
        {
            try CrossSigningKey(userID: "@a:hs", usage: usage, publicKey: pair.publicKey, signedBy: signer)
        }
        let pair = Ed25519KeyPair(random: .system)
        let selfSigning = try key(.selfSigning, pair, by: master)
        try selfSigning.verifySignature(by: key(.master, master, by: nil))
        #expect(throws: EncryptionError.noSignature) {
            try selfSigning.verifySignature(by: key(.master, other, by: nil))
        }
        let device = try device()
        let signed = try DeviceKeys(
            try SignedJSON.sign(device.json, with: pair, user: "@a:hs", keyID: selfSigning.id), user: "@a:hs")
        try signed.verifySignature(by: selfSigning)
        #expect(throws: EncryptionError.noSignature) { try device.verifySignature(by: selfSigning) }
        #expect(throws: EncryptionError.noSignature) {
            try signed.verifySignature(by: key(.selfSigning, other, by: master))
        }
    }

    @Test(arguments: [
        #"{"user_id":"@a:hs","usage":["master","self_signing"],"keys":{"ed25519:K":"K"}}"#,
        #"{"user_id":"@a:hs","usage":[],"keys":{"ed25519:K":"K"}}"#,
        #"{"user_id":"@a:hs","usage":"master","keys":{"ed25519:K":"K"}}"#,
        #"{"user_id":"@a:hs","usage":["master"],"keys":{"ed25519:L":"K"}}"#,
        #"{"user_id":"@a:hs","usage":["master"],"keys":{"curve25519:K":"K"}}"#,
        #"{"user_id":"@a:hs","usage":["master"],"keys":{"ed25519:K":"K","ed25519:L":"L"}}"#,
        #"{"user_id":"@a:hs","usage":["master"],"keys":{}}"#,
        #"{"user_id":"@a:hs","usage":["master"],"keys":{"ed25519:AAAA":"AAAA"}}"#,
        #"{"user_id":"@a:hs","usage":["master"]}"#,
    ])
    func aCrossSigningKeyHasOneUsageAndOneKey(text: String) throws {
        let (first, second) = (fingerprint.publicKey.base64, identityKey.base64)
        func view(_ text: String) throws -> JSONView {
            try #require(
                JSONView(
                    Array(
                        text.replacing(":K\"", with: ":\(first)\"").replacing("\"K\"", with: "\"\(first)\"")
                            .replacing(":L\"", with: ":\(second)\"").replacing("\"L\"", with: "\"\(second)\"").utf8)))
        }
        _ = try CrossSigningKey(
            try view(#"{"user_id":"@a:hs","usage":["master"],"keys":{"ed25519:K":"K"}}"#), user: "@a:hs", usage: .master
        )
        #expect(throws: EncryptionError.keys) { try CrossSigningKey(try view(text), user: "@a:hs", usage: .master) }
    }
}
