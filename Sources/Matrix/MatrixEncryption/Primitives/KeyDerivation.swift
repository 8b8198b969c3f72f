import Basics
import CLibcrypto

/// HMAC, HKDF and PBKDF2, based on libcrypto.
package enum KeyDerivation {
    /// Returns the HMAC-SHA-256 (RFC 2104), 32 bytes.
    package static func hmac(key: SecretBytes, _ message: [UInt8]) -> SecretBytes {
        message.withUnsafeBytes { hmac(key: key, $0) }
    }

    package static func hmac(key: SecretBytes, _ message: SecretBytes) -> SecretBytes {
        message.withUnsafeBytes { hmac(key: key, $0) }
    }

    package static func hmac(key: SecretBytes, _ message: UnsafeRawBufferPointer) -> SecretBytes {
        let hmac = HMACSHA256(key: key)
        return SecretBytes(count: 32) { hmac.write(message, into: $0) }
    }

    /// Returns whether `tag` is a prefix of the message's MAC, in constant time.
    package static func isCode(_ tag: [UInt8], of message: [UInt8], key: SecretBytes, length: Int) -> Bool {
        hmac(key: key, message)[0..<length] == SecretBytes(tag)
    }

    /// Derives a key with HKDF and SHA-256 (RFC 5869).
    ///
    /// - Parameters:
    ///   - salt: The salt; `nil` for 32 zero bytes.
    ///   - count: The number of bytes, at most 8,160.
    package static func hkdf(_ secret: SecretBytes, salt: SecretBytes? = nil, info: String, count: Int) -> SecretBytes {
        let expansion = HMACSHA256(key: hmac(key: salt ?? noSalt, secret))
        let info = Array(info.utf8)
        let blocks = SecretBytes(count: (count + 31) / 32 * 32) { blocks in
            for start in stride(from: 0, to: count, by: 32) {
                let previous = UnsafeRawBufferPointer(rebasing: blocks[max(0, start - 32)..<start])
                let block = UnsafeMutableRawBufferPointer(rebasing: blocks[start..<start + 32])
                (info + [UInt8(start / 32 + 1)]).withUnsafeBytes { expansion.write(previous, $0, into: block) }
            }
        }
        return blocks.count == count ? blocks : blocks[0..<count]
    }

    private static let noSalt = SecretBytes(repeatElement(0, count: 32))

    /// Derives a key with PBKDF2 and HMAC-SHA-512 (RFC 8018) in about a microsecond per round: call it in the
    /// background.
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

/// HMAC on a digest that is looked up once. libcrypto's own HMAC looks it up each time, which takes three times as long
/// as the digests themselves.
private struct HMACSHA256: ~Copyable {
    private static let blockSize = 64

    private let context: OpaquePointer?
    /// The key blocks for the inner and the outer digest.
    private let pads: SecretBytes

    init(key: SecretBytes) {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        precondition(key.count <= Self.blockSize, "longer keys would have to be hashed")
        context = EVP_MD_CTX_new()
        pads = SecretBytes(count: 2 * Self.blockSize) { pads in
            key.withUnsafeBytes { key in
                for index in 0..<Self.blockSize {
                    let byte = index < key.count ? key[index] : 0
                    (pads[index], pads[Self.blockSize + index]) = (byte ^ 0x36, byte ^ 0x5C)
                }
            }
        }
    }

    deinit { EVP_MD_CTX_free(context) }  // this wipes it

    /// - Parameters:
    ///   - more: A second part of the message.
    ///   - result: The MAC, 32 bytes.
    func write(
        _ message: UnsafeRawBufferPointer,
        _ more: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        into result: UnsafeMutableRawBufferPointer
    ) {
        pads.withUnsafeBytes { pads in
            digest([UnsafeRawBufferPointer(rebasing: pads[..<Self.blockSize]), message, more], into: result)
            let outer = UnsafeRawBufferPointer(rebasing: pads[Self.blockSize...])
            digest([outer, UnsafeRawBufferPointer(result)], into: result)
        }
    }

    private func digest(_ parts: [UnsafeRawBufferPointer], into result: UnsafeMutableRawBufferPointer) {
        var done = EVP_DigestInit_ex(context, Algorithms.sha256, nil) == 1
        for part in parts where !part.isEmpty {
            done = done && EVP_DigestUpdate(context, part.baseAddress, part.count) == 1
        }
        done = done && EVP_DigestFinal_ex(context, result.bytes, nil) == 1
        precondition(done, "libcrypto has no SHA-256")
    }
}

/// Algorithms of libcrypto, looked up once. With its constants, each use would look them up again, under locks.
enum Algorithms {
    // Unsafe: never changed or freed.
    nonisolated(unsafe) static let sha256 = LibCrypto.isReady ? EVP_MD_fetch(nil, "SHA256", nil) : nil
    nonisolated(unsafe) static let aes256CBC = LibCrypto.isReady ? EVP_CIPHER_fetch(nil, "AES-256-CBC", nil) : nil
    nonisolated(unsafe) static let aes256CTR = LibCrypto.isReady ? EVP_CIPHER_fetch(nil, "AES-256-CTR", nil) : nil
}

extension UnsafeRawBufferPointer {
    /// The start of the buffer, for C.
    var bytes: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeMutableRawBufferPointer {
    var bytes: UnsafeMutablePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
