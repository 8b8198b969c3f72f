import Basics

/// The contents of a verification's QR code: the keys known to the side that shows it.
///
///     "MATRIX" 02 mode length(2) id first key(32) second key(32) secret
package struct VerificationQRCode: Sendable, Equatable {
    package enum Mode: UInt8, Sendable {
        /// Another user: the shower's master key, then the other's.
        case otherUser = 0
        /// Another device of the user; the shower trusts the master key: that key, then the other device's Ed25519 key.
        case trustingDevice = 1
        /// Another device of the user; the shower doesn't trust the master key yet: its own Ed25519 key, then that key.
        case untrustingDevice = 2
    }

    package let mode: Mode
    /// The transaction id, or the event id of the request.
    package let id: String
    package let firstKey: Ed25519PublicKey
    package let secondKey: Ed25519PublicKey
    /// The secret, at least 8 bytes. The side that scans it sends it back.
    package let secret: SecretBytes

    /// - Throws: `length` if the id has more than 65,535 bytes, or the secret less than 8.
    package init(
        mode: Mode, id: String, firstKey: Ed25519PublicKey, secondKey: Ed25519PublicKey, secret: SecretBytes
    ) throws(EncryptionError) {
        guard id.utf8.count <= Int(UInt16.max), secret.count >= 8 else { throw .length }
        self.mode = mode
        self.id = id
        self.firstKey = firstKey
        self.secondKey = secondKey
        self.secret = secret
    }

    /// - Throws: `header`, `version`, `mode` or `length`; `ids` if the id is not UTF-8.
    package init(_ bytes: [UInt8]) throws(EncryptionError) {
        guard bytes.count >= 10, bytes.starts(with: Self.header) else { throw .header }
        guard bytes[6] == Self.version else { throw .version }
        guard let mode = Mode(rawValue: bytes[7]) else { throw .mode }
        let idEnd = 10 + (Int(bytes[8]) << 8 | Int(bytes[9]))
        guard bytes.count >= idEnd + 64 + 8 else { throw .length }
        guard let id = String(validating: bytes[10..<idEnd], as: UTF8.self) else { throw .ids }
        try self.init(
            mode: mode, id: id, firstKey: Ed25519PublicKey(bytes[idEnd..<idEnd + 32]),
            secondKey: Ed25519PublicKey(bytes[idEnd + 32..<idEnd + 64]), secret: SecretBytes(bytes[(idEnd + 64)...]))
    }

    package var bytes: [UInt8] {
        let id = Array(id.utf8)
        var bytes = Self.header + [Self.version, mode.rawValue, UInt8(id.count >> 8), UInt8(id.count & 255)]
        bytes += id + firstKey.bytes + secondKey.bytes
        secret.withUnsafeBytes { bytes += $0 }
        return bytes
    }

    /// Checks the code on the scanning side, before it vouches for anything.
    ///
    /// - Parameters:
    ///   - mode: The expected mode: `otherUser` for another user; for devices of one user, `untrustingDevice` if the
    ///     scanner trusts the master key, else `trustingDevice`.
    ///   - firstKey: The shower's key as known to the scanner.
    ///   - secondKey: The scanner's own key.
    /// - Throws: `ids`, `mode`; `keys` (`m.key_mismatch`).
    package func verify(
        id: String, mode: Mode, firstKey: Ed25519PublicKey, secondKey: Ed25519PublicKey
    ) throws(EncryptionError) {
        guard self.id.isExactly(id) else { throw .ids }
        guard self.mode == mode else { throw .mode }
        guard self.firstKey == firstKey, self.secondKey == secondKey else { throw .keys }
    }

    /// Returns whether a peer has scanned this code, by the secret that it sends back in base64.
    package func isSecret(_ text: String) -> Bool { (try? UnpaddedBase64.decodeSecret(text)) == secret }

    package static func == (lhs: VerificationQRCode, rhs: VerificationQRCode) -> Bool {
        lhs.mode == rhs.mode && lhs.id.isExactly(rhs.id) && lhs.firstKey == rhs.firstKey
            && lhs.secondKey == rhs.secondKey && lhs.secret == rhs.secret
    }

    private static let header = Array("MATRIX".utf8)
    private static let version: UInt8 = 2
}
