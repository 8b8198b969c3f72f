import CLibsodium

/// NaCl's secretbox (XSalsa20, Poly1305), which encrypted channels use.
package enum SecretBox {
    package static let keySize = 32
    package static let nonceSize = 24
    /// The number of bytes by which a box is longer than its content.
    package static let tagSize = 16

    private static let isInitialized = sodium_init() >= 0

    /// Returns a random nonce, so that none is used twice.
    package static func makeNonce() -> [UInt8] {
        precondition(isInitialized, "libsodium cannot be used")
        var nonce = [UInt8](repeating: 0, count: nonceSize)
        randombytes_buf(&nonce, nonceSize)
        return nonce
    }

    /// Returns the content of a box; `nil` if a size is wrong or the box was not made with this key and nonce.
    package static func open(_ box: [UInt8], nonce: [UInt8], key: [UInt8]) -> [UInt8]? {
        guard isInitialized, key.count == keySize, nonce.count == nonceSize, box.count >= tagSize else { return nil }
        // One extra byte, so that empty content also has an address.
        var content = [UInt8](repeating: 0, count: box.count - tagSize + 1)
        guard crypto_secretbox_open_easy(&content, box, UInt64(box.count), nonce, key) == 0 else { return nil }
        content.removeLast()
        return content
    }

    /// Returns the tag and the encrypted content; `nil` if a size is wrong. Never use a nonce twice with the same key.
    package static func seal(_ content: [UInt8], nonce: [UInt8], key: [UInt8]) -> [UInt8]? {
        guard isInitialized, key.count == keySize, nonce.count == nonceSize else { return nil }
        var box = [UInt8](repeating: 0, count: content.count + tagSize)
        guard crypto_secretbox_easy(&box, content, UInt64(content.count), nonce, key) == 0 else { return nil }
        return box
    }
}
