import MatrixEncryption
import TestSupport
import Testing

@Suite struct VerificationQRCodeTests {
    private let vectors = Vectors.file("sas")

    @Test func codesAreWrittenAndReadAsElsewhere() throws {
        for vector in try vectors.list("qr") {
            let mode = try #require(VerificationQRCode.Mode(rawValue: UInt8(try vector.wholeNumber("mode"))))
            let code = try VerificationQRCode(
                mode: mode, id: try vector.text("id"),
                firstKey: Ed25519PublicKey(base64: try vector.text("first_key")),
                secondKey: Ed25519PublicKey(base64: try vector.text("second_key")),
                secret: SecretBytes(try vector.hex("secret")))
            #expect(try code.bytes == vector.hex("hex"))
            #expect(try VerificationQRCode(try vector.hex("hex")) == code)
        }
        for vector in try vectors.list("qr_refused") {
            try expectRefusal(vector, try vector.text("why")) { _ = try VerificationQRCode(try vector.hex("hex")) }
        }
    }

    @Test(.rule("R3")) func anyBytesAreReadOrRefused() throws {
        var generator = XorShift(seed: 13)
        let bytes = try vectors.list("qr")[0].hex("hex")
        for length in bytes.indices {
            #expect(throws: EncryptionError.self) { try VerificationQRCode(Array(bytes[..<length])) }
        }
        for _ in 0..<2_000 {
            var changed = bytes
            changed[Int.random(in: changed.indices, using: &generator)] = .random(in: .min ... .max, using: &generator)
            if let code = try? VerificationQRCode(changed) { #expect(code.bytes == changed) }
        }
    }

    @Test func idsAreTextAndSecretsHaveEightBytes() throws {
        let key = Ed25519KeyPair(random: .system).publicKey
        var bytes = try VerificationQRCode(
            mode: .otherUser, id: "ab", firstKey: key, secondKey: key, secret: RandomSource.system.secret(8)
        ).bytes
        bytes[10] = 0xFF
        #expect(throws: EncryptionError.ids) { try VerificationQRCode(bytes) }
        #expect(throws: EncryptionError.length) {
            try VerificationQRCode(
                mode: .otherUser, id: "", firstKey: key, secondKey: key, secret: RandomSource.system.secret(7))
        }
        #expect(throws: EncryptionError.length) {
            try VerificationQRCode(
                mode: .otherUser, id: String(repeating: "x", count: 65_536), firstKey: key, secondKey: key,
                secret: RandomSource.system.secret(8))
        }
    }

    @Test func theScannerChecksEveryPart() throws {
        let (own, theirs) = (Ed25519KeyPair(random: .system).publicKey, Ed25519KeyPair(random: .system).publicKey)
        let secret = RandomSource.system.secret(16)
        let code = try VerificationQRCode(
            mode: .trustingDevice, id: "K1", firstKey: theirs, secondKey: own, secret: secret)
        try code.verify(id: "K1", mode: .trustingDevice, firstKey: theirs, secondKey: own)
        #expect(throws: EncryptionError.ids) {
            try code.verify(id: "\u{212A}1", mode: .trustingDevice, firstKey: theirs, secondKey: own)
        }
        #expect(throws: EncryptionError.mode) {
            try code.verify(id: "K1", mode: .untrustingDevice, firstKey: theirs, secondKey: own)
        }
        #expect(throws: EncryptionError.keys) {
            try code.verify(id: "K1", mode: .trustingDevice, firstKey: own, secondKey: theirs)
        }
        #expect(throws: EncryptionError.keys) {
            try code.verify(id: "K1", mode: .trustingDevice, firstKey: theirs, secondKey: theirs)
        }
        #expect(code.isSecret(UnpaddedBase64.encode(secret)))
        for other in ["", "?", UnpaddedBase64.encode(secret[0..<15]), UnpaddedBase64.encode(own.bytes)] {
            #expect(!code.isSecret(other))
        }
    }
}
