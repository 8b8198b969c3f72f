import MatrixEncryption
import TestSupport
import Testing

/// Each value of `Fixtures/matrix-encryption/primitives.json`.
@Suite struct PrimitiveVectorTests {
    private let vectors = Vectors.primitives

    @Test func base64IsWrittenWithoutPaddingAndReadWithOrWithoutIt() throws {
        for vector in try vectors.list("base64") {
            let bytes = try vector.hex("hex")
            let text = try vector.text("unpadded")
            #expect(UnpaddedBase64.encode(bytes) == text)
            #expect(try UnpaddedBase64.decode(text) == bytes)
            let padded = text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
            #expect(try UnpaddedBase64.decode(padded) == bytes)
            #expect(try UnpaddedBase64.decodeSecret(text) == SecretBytes(bytes))
            #expect(try UnpaddedBase64.decodeSecretForURL(text) == SecretBytes(bytes))
            let forURL = UnpaddedBase64.encodeForURL(SecretBytes(bytes))
            #expect(forURL == String(text.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }))
            #expect(try UnpaddedBase64.decodeSecretForURL(forURL) == SecretBytes(bytes))
        }
        for text in try vectors.texts("base64_refused") {
            #expect(throws: EncryptionError.base64, "\(text)") { try UnpaddedBase64.decode(text) }
            #expect(throws: EncryptionError.base64, "\(text)") { try UnpaddedBase64.decodeSecret(text) }
        }
    }

    /// Tries each character at each position.
    @Test func everyOtherCharacterIsRefused() {
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".unicodeScalars)
        for value in UInt8.min...UInt8.max {
            let character = Unicode.Scalar(value)
            let text = String(character) + "AAA"
            let isTaken = (try? UnpaddedBase64.decode(text)) != nil
            #expect(isTaken == alphabet.contains(character), "\(value)")
            let isTakenForURL = (try? UnpaddedBase64.decodeSecretForURL(text)) != nil
            #expect(isTakenForURL == (alphabet.contains(character) || character == "-" || character == "_"), "\(value)")
        }
    }

    @Test func numbersHaveSevenBitsAByte() throws {
        for vector in try vectors.list("varint") {
            let value = try vector.wholeNumber("value")
            let bytes = try vector.hex("hex")
            var written: [UInt8] = []
            Varint.append(value, to: &written)
            #expect(written == bytes)
            var position = 0
            #expect(try Varint.read(bytes[...], at: &position) == value)
            #expect(position == bytes.count)
        }
        for text in try vectors.texts("varint_refused") {
            let bytes = try Hexadecimal.bytes(text)
            var position = 0
            #expect(throws: EncryptionError.varint, "\(text)") { try Varint.read(bytes[...], at: &position) }
        }
        var position = 0
        #expect(try Varint.read([0x80, 0x00], at: &position) == 0)  // not the shortest form
    }

    @Test func keysAreDerived() throws {
        for vector in try vectors.list("hkdf_sha256") {
            let salt = try vector.hex("salt")
            let key = KeyDerivation.hkdf(
                SecretBytes(try vector.hex("secret")), salt: salt.isEmpty ? nil : SecretBytes(salt),
                info: String(decoding: try vector.hex("info"), as: UTF8.self),
                count: Int(try vector.wholeNumber("length")))
            #expect(try key == SecretBytes(vector.hex("out")))
        }
        for vector in try vectors.list("pbkdf2_sha512") {
            let key = KeyDerivation.pbkdf2(
                passphrase: try vector.text("passphrase"), salt: try vector.hex("salt"),
                rounds: Int(try vector.wholeNumber("rounds")), count: Int(try vector.wholeNumber("length")))
            #expect(try key == SecretBytes(vector.hex("out")))
        }
    }

    /// Timing is not measured: codes are compared as ``SecretBytes``, whose `==` is libsodium's.
    @Test(.rule("R2")) func codesOfAnotherLengthAreRefused() {
        let (key, message) = (SecretBytes([1]), [2, 3] as [UInt8])
        let code = KeyDerivation.hmac(key: key, message).withUnsafeBytes { Array($0) }
        #expect(KeyDerivation.isCode(code, of: message, key: key, length: 32))
        #expect(KeyDerivation.isCode(Array(code[..<8]), of: message, key: key, length: 8))
        for other in [[], Array(code[..<7]), Array(code[..<9]), code] {
            #expect(!KeyDerivation.isCode(other, of: message, key: key, length: 8))
        }
        for place in 0..<8 {
            var other = Array(code[..<8])
            other[place] ^= 1
            #expect(!KeyDerivation.isCode(other, of: message, key: key, length: 8))
        }
    }

    @Test(.rule("R1")) func aSharedSecretOfZeroIsRefused() throws {
        for vector in try vectors.list("x25519") {
            let pair = try Curve25519KeyPair(privateKey: SecretBytes(try vector.hex("private")))
            let secret = try pair.sharedSecret(with: Curve25519PublicKey(try vector.hex("public")))
            #expect(try secret == SecretBytes(vector.hex("shared")))
        }
        let pair = Curve25519KeyPair(random: .system)
        for text in try vectors.texts("x25519_refused") {
            let key = try Curve25519PublicKey(try Hexadecimal.bytes(text))
            #expect(throws: EncryptionError.lowOrder, "\(text)") { try pair.sharedSecret(with: key) }
        }
        #expect(throws: EncryptionError.keyLength) { try Curve25519PublicKey([1, 2]) }
        #expect(throws: EncryptionError.keyLength) { try Curve25519KeyPair(privateKey: SecretBytes([1])) }
    }

    @Test(.rule("R1")) func signaturesUnderKeysOfLowOrderAreRefused() throws {
        for vector in try vectors.list("ed25519") {
            let pair = try Ed25519KeyPair(seed: SecretBytes(try vector.hex("seed")))
            let message = try vector.hex("message")
            #expect(try pair.publicKey.bytes == vector.hex("public"))
            #expect(try pair.signature(of: message) == vector.hex("signature"))
            try pair.publicKey.verify(try vector.hex("signature"), of: message)
        }
        for vector in try vectors.list("ed25519_refused") {
            let key = try Ed25519PublicKey(try vector.hex("public"))
            let (signature, message) = (try vector.hex("signature"), try vector.hex("message"))
            let why = try vector.text("why")
            #expect(throws: EncryptionError.signature, "\(why)") {
                try key.verify(signature, of: message)
            }
        }
    }

    @Test func textsAreEncryptedAsElsewhere() throws {
        for vector in try vectors.list("aes256_cbc") {
            let (key, iv) = (SecretBytes(try vector.hex("key")), SecretBytes(try vector.hex("iv")))
            let plaintext = SecretBytes(try vector.hex("plain"))
            let ciphertext = try vector.hex("cipher")
            #expect(AES256.encryptCBC(plaintext, key: key, iv: iv) == ciphertext)
            #expect(try AES256.decryptCBC(ciphertext, key: key, iv: iv) == plaintext)
            #expect(throws: EncryptionError.padding) {
                try AES256.decryptCBC(Array(ciphertext.dropLast()), key: key, iv: iv)
            }
        }
        for vector in try vectors.list("aes256_ctr") {
            let (key, iv) = (SecretBytes(try vector.hex("key")), try vector.hex("iv"))
            let plaintext = SecretBytes(try vector.hex("plain"))
            let ciphertext = SecretBytes(try vector.hex("cipher"))
            #expect(AES256.ctr(plaintext, key: key, iv: iv) == ciphertext)
            #expect(AES256.ctr(ciphertext, key: key, iv: iv) == plaintext)
        }
    }
}
