import Basics
import CLibcrypto

/// HMAC, HKDF and PBKDF2, on libcrypto.
package enum KeyDerivation {
    /// HMAC-SHA-256 (RFC 2104): 32 bytes.
    package static func hmac(key: SecretBytes, _ message: [UInt8]) -> SecretBytes {
        message.withUnsafeBytes { hmac(key: key, $0) }
    }

    package static func hmac(key: SecretBytes, _ message: SecretBytes) -> SecretBytes {
        message.withUnsafeBytes { hmac(key: key, $0) }
    }

    package static func hmac(key: SecretBytes, _ message: UnsafeRawBufferPointer) -> SecretBytes {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        return SecretBytes(count: 32) { result in
            key.withUnsafeBytes { key in
                var length: UInt32 = 0
                let done = HMAC(
                    EVP_sha256(), key.baseAddress, Int32(key.count), message.bytes, message.count, result.bytes, &length
                )
                precondition(done != nil && length == 32, "libcrypto has no SHA-256")
            }
        }
    }

    /// Whether `tag` is how the code of the message begins. Takes the same time wherever it differs.
    package static func isCode(_ tag: [UInt8], of message: [UInt8], key: SecretBytes, length: Int) -> Bool {
        hmac(key: key, message)[0..<length] == SecretBytes(tag)
    }

    /// HKDF with SHA-256 (RFC 5869).
    ///
    /// - Parameters:
    ///   - salt: Nil for 32 zero bytes.
    ///   - count: At most 8,160.
    package static func hkdf(_ secret: SecretBytes, salt: SecretBytes? = nil, info: String, count: Int) -> SecretBytes {
        let pseudorandomKey = hmac(key: salt ?? noSalt, secret)
        var blocks: [SecretBytes] = []
        for number in 1...(count + 31) / 32 {
            let previous = blocks.last.map { [$0] } ?? []
            let input = SecretBytes(joining: previous + [SecretBytes(info.utf8), SecretBytes([UInt8(number)])])
            blocks.append(hmac(key: pseudorandomKey, input))
        }
        return SecretBytes(joining: blocks)[0..<count]
    }

    private static let noSalt = SecretBytes(repeatElement(0, count: 32))

    /// PBKDF2 with HMAC-SHA-512 (RFC 8018). Takes about a microsecond a round: call it where nobody waits.
    ///
    /// - Parameter rounds: At least 1.
    package static func pbkdf2(passphrase: String, salt: [UInt8], rounds: Int, count: Int) -> SecretBytes {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        var passphrase = passphrase
        return SecretBytes(count: count) { result in
            passphrase.withUTF8 { passphrase in
                let text = UnsafeRawBufferPointer(passphrase).bindMemory(to: CChar.self)
                let done = PKCS5_PBKDF2_HMAC(
                    text.baseAddress, Int32(text.count), salt, Int32(salt.count), Int32(clamping: rounds), EVP_sha512(),
                    Int32(count), result.bytes)
                precondition(done == 1, "libcrypto has no PBKDF2")
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Where they begin, for C.
    var bytes: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeMutableRawBufferPointer {
    var bytes: UnsafeMutablePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
