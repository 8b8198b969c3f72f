import Basics
import CLibcrypto

/// AES with 256-bit keys, implemented by libcrypto.
package enum AES256 {
    /// Encrypts with CBC and PKCS#7 padding: even an empty text becomes 16 bytes.
    ///
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - iv: 16 bytes.
    package static func encryptCBC(_ plaintext: SecretBytes, key: SecretBytes, iv: SecretBytes) -> [UInt8] {
        var ciphertext = [UInt8](repeating: 0, count: (plaintext.count / 16 + 1) * 16)
        let count = plaintext.withUnsafeBytes { plaintext in
            ciphertext.withUnsafeMutableBytes {
                run(plaintext, into: $0, Algorithms.aes256CBC, key, iv, encrypts: true)
            }
        }
        precondition(count == ciphertext.count, "libcrypto has no AES")
        return ciphertext
    }

    /// - Throws: `padding`. Reporting it to a peer would reveal the plaintext, so check the message's MAC first.
    package static func decryptCBC(
        _ ciphertext: [UInt8], key: SecretBytes, iv: SecretBytes
    ) throws(EncryptionError) -> SecretBytes {
        guard !ciphertext.isEmpty, ciphertext.count % 16 == 0 else { throw .padding }
        var count: Int?
        let padded = SecretBytes(count: ciphertext.count + 16) { plaintext in
            ciphertext.withUnsafeBytes { ciphertext in
                count = run(ciphertext, into: plaintext, Algorithms.aes256CBC, key, iv, encrypts: false)
            }
        }
        guard let count else { throw .padding }
        return padded[0..<count]
    }

    /// Encrypts or decrypts with CTR, counting over all 128 bits.
    package static func ctr(_ text: SecretBytes, key: SecretBytes, iv: [UInt8]) -> SecretBytes {
        SecretBytes(count: text.count) { result in
            let count = text.withUnsafeBytes {
                run($0, into: result, Algorithms.aes256CTR, key, SecretBytes(iv), encrypts: true)
            }
            precondition(count == text.count, "libcrypto has no AES")
        }
    }

    /// Encrypts or decrypts a piece of a longer text with CTR.
    ///
    /// - Parameters:
    ///   - piece: The piece, below 2 GiB.
    ///   - offset: The offset of the piece in the text, in bytes.
    package static func ctr(_ piece: [UInt8], at offset: Int, key: SecretBytes, iv: [UInt8]) -> [UInt8] {
        // The IV is a big-endian number, incremented for each block.
        var (counter, carry) = (iv, offset / 16)
        for index in counter.indices.reversed() where carry > 0 {
            carry += Int(counter[index])
            counter[index] = UInt8(truncatingIfNeeded: carry)
            carry >>= 8
        }
        let before = offset % 16
        let blocks = [UInt8](repeating: 0, count: before) + piece
        var result = [UInt8](repeating: 0, count: blocks.count)
        let count = blocks.withUnsafeBytes { blocks in
            result.withUnsafeMutableBytes {
                run(blocks, into: $0, Algorithms.aes256CTR, key, SecretBytes(counter), encrypts: true)
            }
        }
        precondition(count == result.count, "libcrypto has no AES")
        result.removeFirst(before)
        return result
    }

    /// - Returns: The number of bytes written; `nil` if the padding is wrong.
    private static func run(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, _ cipher: OpaquePointer?,
        _ key: SecretBytes, _ iv: SecretBytes, encrypts: Bool
    ) -> Int? {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        precondition(key.count == 32 && iv.count == 16, "AES-256 needs 32 bytes of key and 16 of IV")
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        let isReady = key.withUnsafeBytes { key in
            iv.withUnsafeBytes { EVP_CipherInit_ex(context, cipher, nil, key.bytes, $0.bytes, encrypts ? 1 : 0) }
        }
        precondition(isReady == 1, "libcrypto has no AES")
        var (count, rest): (Int32, Int32) = (0, 0)
        if !input.isEmpty {
            let done = EVP_CipherUpdate(context, output.bytes, &count, input.bytes, Int32(input.count))
            precondition(done == 1, "libcrypto refused a text")
        }
        guard EVP_CipherFinal_ex(context, output.bytes.map { $0 + Int(count) }, &rest) == 1 else { return nil }
        return Int(count + rest)
    }
}
