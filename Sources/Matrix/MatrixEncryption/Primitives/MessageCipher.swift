/// The keys of a message, and the cipher of both ratchets: AES-256-CBC, and eight bytes of HMAC-SHA-256 over everything
/// before them.
struct MessageCipher {
    static let codeLength = 8

    private let aesKey: SecretBytes
    private let macKey: SecretBytes
    private let iv: SecretBytes

    /// - Parameter info: The purpose of the keys.
    init(_ secret: SecretBytes, info: String) {
        let keys = KeyDerivation.hkdf(secret, info: info, count: 80)
        (aesKey, macKey, iv) = (keys[0..<32], keys[32..<64], keys[64..<80])
    }

    func encrypt(_ plaintext: SecretBytes) -> [UInt8] {
        AES256.encryptCBC(plaintext, key: aesKey, iv: iv)
    }

    func code(of body: [UInt8]) -> [UInt8] {
        KeyDerivation.hmac(key: macKey, body).withUnsafeBytes { Array($0.prefix(Self.codeLength)) }
    }

    /// - Parameters:
    ///   - body: The received bytes, up to the MAC.
    ///   - ciphertext: The ciphertext within the body.
    func decrypt(
        _ ciphertext: ArraySlice<UInt8>, body: ArraySlice<UInt8>, code: ArraySlice<UInt8>
    ) throws(EncryptionError) -> SecretBytes {
        guard KeyDerivation.isCode(Array(code), of: Array(body), key: macKey, length: Self.codeLength) else {
            throw .mac
        }
        return try AES256.decryptCBC(Array(ciphertext), key: aesKey, iv: iv)
    }
}
