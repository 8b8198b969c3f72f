import Basics
import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

@Suite struct ShortAuthenticationStringTests {
    private let vectors = Vectors.file("sas")

    private func party(_ vector: JSONView) throws -> SASParty {
        SASParty(
            userID: try vector.text("user"), deviceID: try vector.text("device"),
            key: try Curve25519PublicKey(base64: try vector.text("public")))
    }

    /// The secret of two sides, one of whose private keys is in the vector.
    private func secret(_ vector: JSONView) throws -> SecretBytes {
        let (starter, accepter) = (try vector.value("starter"), try vector.value("accepter"))
        let (own, peer) = starter["private"]?.string == nil ? (accepter, starter) : (starter, accepter)
        let pair = try Curve25519KeyPair(privateKey: SecretBytes(try own.hex("private")))
        return try pair.sharedSecret(with: try party(peer).key)
    }

    @Test func theEmojiHaveTheirNames() throws {
        let table = try vectors.list("emoji_table")
        #expect(table.count == 64 && SASEmoji.all.count == 64)
        for (vector, emoji) in zip(table, SASEmoji.all) {
            #expect(try emoji.index == Int(vector.wholeNumber("number")))
            #expect(try emoji.symbol.isExactly(vector.text("emoji")))
            #expect(try emoji.name == vector.text("description"))
        }
    }

    @Test func bytesBecomeEmojiAndNumbers() throws {
        for vector in try vectors.list("bytes") {
            let sas = try ShortAuthenticationString(bytes: try vector.hex("hex"))
            #expect(try sas.emoji.map(\.index) == vector.list("emoji_indices").map(\.int))
            #expect(try sas.decimals == vector.list("decimals").map(\.int))
        }
        #expect(throws: EncryptionError.length) { try ShortAuthenticationString(bytes: [1, 2, 3, 4, 5]) }
    }

    @Test func bothSidesComputeWhatOthersDo() throws {
        for vector in try vectors.list("exchanges") {
            let secret = try secret(vector)
            #expect(try secret == SecretBytes(vector.hex("shared_secret")))
            let (starter, accepter) = (try party(vector.value("starter")), try party(vector.value("accepter")))
            let agreement = try #require(SASKeyAgreement(rawValue: try vector.text("key_agreement")))
            let sas = ShortAuthenticationString(
                secret: secret, starter: starter, accepter: accepter, transactionID: try vector.text("transaction_id"),
                keyAgreement: agreement)
            #expect(try sas.bytes == vector.hex("sas_bytes"))
            #expect(try sas.emoji.map(\.name) == vector.texts("emoji"))
            #expect(try sas.decimals == vector.list("decimals").map(\.int))
            let start = try vector.value("start_content")
            #expect(
                try ShortAuthenticationString.commitment(key: accepter.key, start: start) == vector.text("commitment"))
            try ShortAuthenticationString.verify(
                commitment: try vector.text("commitment"), key: accepter.key, start: start)
        }
    }

    @Test func codesOfKeysAreAsElsewhere() throws {
        for vector in try vectors.list("exchanges") {
            let parties = [
                "starter": try party(vector.value("starter")), "accepter": try party(vector.value("accepter")),
            ]
            for (side, other) in [("starter", "accepter"), ("accepter", "starter")] {
                let codes = try vector.value("mac").value(side)
                var keys: [String: Ed25519PublicKey] = [:]
                for (id, key) in try codes.value("keys_signed").members {
                    keys[id] = try Ed25519PublicKey(base64: try #require(key.string))
                }
                for method in SASCodeMethod.allCases {
                    let authentication = SASAuthentication(
                        secret: try secret(vector), method: method, sender: try #require(parties[side]),
                        receiver: try #require(parties[other]), transactionID: try vector.text("transaction_id"))
                    let sent = try codes.value(method.rawValue)
                    let made = authentication.content(of: keys)
                    #expect(try CanonicalJSON.bytes(of: made) == CanonicalJSON.bytes(of: sent))
                    #expect(try Set(authentication.verify(sent, known: keys)) == Set(keys.keys))
                    let one = try #require(keys.first)
                    #expect(try authentication.verify(sent, known: [one.key: one.value]) == [one.key])
                }
            }
        }
    }

    // MARK: Refusals

    private let alice = Curve25519KeyPair(random: .system)
    private let bob = Curve25519KeyPair(random: .system)

    private func party(_ name: String, _ pair: Curve25519KeyPair) -> SASParty {
        SASParty(userID: "@\(name):hs", deviceID: name.uppercased(), key: pair.publicKey)
    }

    private func start(_ text: String = #"{"from_device":"A","method":"m.sas.v1","x":[1],"m.relates_to":{"a":"b"}}"#)
        throws -> JSONView
    {
        try #require(JSONView(Array(text.utf8)))
    }

    @Test(.rule("R25")) func everyWrongByteOfACommitmentIsRefused() throws {
        let commitment = try ShortAuthenticationString.commitment(key: bob.publicKey, start: start())
        let text = Array(commitment.utf8)
        for index in text.indices {
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: EncryptionError.hash) {
                try ShortAuthenticationString.verify(
                    commitment: String(decoding: changed, as: UTF8.self), key: bob.publicKey, start: try start())
            }
        }
        #expect(throws: EncryptionError.hash) {
            try ShortAuthenticationString.verify(commitment: commitment, key: alice.publicKey, start: try start())
        }
    }

    @Test(.rule("R28")) func theStartIsHashedAsItCame() throws {
        let commitment = try ShortAuthenticationString.commitment(key: bob.publicKey, start: start())
        for changed in [
            #"{"from_device":"A","method":"m.sas.v1","m.relates_to":{"a":"b"}}"#,
            #"{"from_device":"A","method":"m.sas.v1","x":[1]}"#,
            #"{"from_device":"A","method":"m.sas.v1","x":[1],"m.relates_to":{"a":"c"}}"#,
        ] {
            #expect(throws: EncryptionError.hash) {
                try ShortAuthenticationString.verify(
                    commitment: commitment, key: bob.publicKey, start: try start(changed))
            }
        }
        // White space and order do not matter.
        try ShortAuthenticationString.verify(
            commitment: commitment + "=", key: bob.publicKey,
            start: try start(#"{ "x":[1], "method":"m.sas.v1","from_device":"A","m.relates_to":{"a":"b"}}"#))
    }

    @Test(.rule("R26")) func aSwappedKeyGivesOtherEmoji() throws {
        let server = Curve25519KeyPair(random: .system)
        for agreement in SASKeyAgreement.allCases {
            func sas(_ own: Curve25519KeyPair, _ peer: Curve25519PublicKey, _ a: SASParty, _ b: SASParty) throws
                -> ShortAuthenticationString
            {
                ShortAuthenticationString(
                    secret: try own.sharedSecret(with: peer), starter: a, accepter: b, transactionID: "1",
                    keyAgreement: agreement)
            }
            let (a, b) = (party("alice", alice), party("bob", bob))
            #expect(try sas(alice, bob.publicKey, a, b) == sas(bob, alice.publicKey, a, b))
            let (falseA, falseB) = (party("alice", server), party("bob", server))
            #expect(try sas(alice, server.publicKey, a, falseB) != sas(bob, server.publicKey, falseA, b))
        }
    }

    @Test(.rule("R25"), arguments: SASCodeMethod.allCases) func everyWrongByteOfACodeIsRefused(method: SASCodeMethod)
        throws
    {
        let authentication = SASAuthentication(
            secret: try alice.sharedSecret(with: bob.publicKey), method: method, sender: party("alice", alice),
            receiver: party("bob", bob), transactionID: "1")
        let keys = [
            "ed25519:ALICE": Ed25519KeyPair(random: .system).publicKey,
            "ed25519:MASTER": Ed25519KeyPair(random: .system).publicKey,
        ]
        let content = authentication.content(of: keys)
        let text = Array(content.data)
        for index in text.indices {
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let view = JSONView(changed) ?? .nothing
            #expect(throws: EncryptionError.mac, "\(index)") { try authentication.verify(view, known: keys) }
        }
        // Codes of the other side, of another transaction, of another key, and with only unknown keys.
        let mirrored = SASAuthentication(
            secret: try alice.sharedSecret(with: bob.publicKey), method: method, sender: party("bob", bob),
            receiver: party("alice", alice), transactionID: "1")
        #expect(throws: EncryptionError.mac) { try mirrored.verify(content, known: keys) }
        let other = SASAuthentication(
            secret: try alice.sharedSecret(with: bob.publicKey), method: method, sender: party("alice", alice),
            receiver: party("bob", bob), transactionID: "2")
        #expect(throws: EncryptionError.mac) { try other.verify(content, known: keys) }
        let wrong = ["ed25519:ALICE": Ed25519KeyPair(random: .system).publicKey]
        #expect(throws: EncryptionError.mac) { try authentication.verify(content, known: wrong) }
        let unknown = ["ed25519:X": Ed25519KeyPair(random: .system).publicKey]
        #expect(throws: EncryptionError.keys) { try authentication.verify(content, known: unknown) }
        #expect(throws: EncryptionError.keys) {
            try authentication.verify(authentication.content(of: [:]), known: keys)
        }
    }
}
