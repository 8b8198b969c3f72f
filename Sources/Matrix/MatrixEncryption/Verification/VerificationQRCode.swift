import Basics

/// What the QR code of a verification says: which keys the side that shows it has.
///
///     "MATRIX" 02 mode length(2) id first key(32) second key(32) secret
package struct VerificationQRCode: Sendable, Equatable {
    package enum Mode: UInt8, Sendable {
        /// Another user: the shower's master key, then the other's.
        case otherUser = 0
        /// Another device of the same user; this one trusts the master key: that, then the other device's Ed25519 key.
        case trustingDevice = 1
        /// Another device of the same user; this one doesn't trust the master key yet: its own Ed25519 key, then that.
        case untrustingDevice = 2
    }

    package let mode: Mode
    /// The transaction id, or the event id of the request.
    package let id: String
    package let firstKey: Ed25519PublicKey
    package let secondKey: Ed25519PublicKey
    /// At least 8 bytes. Who scans them sends them back.
    package let secret: SecretBytes

    /// - Throws: `length` for an id of more than 65,535 bytes, or a secret of less than 8.
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

    /// - Throws: `header`, `version`, `mode` or `length`; `ids` if the id is no UTF-8.
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

    /// What the side that scans the code checks before it vouches for anything.
    ///
    /// - Parameters:
    ///   - mode: Which the shower must have: `otherUser` for another user; on devices of one user `untrustingDevice` if the
    ///     scanner trusts the master key, else `trustingDevice`.
    ///   - firstKey: What the scanner knows of the shower.
    ///   - secondKey: What the scanner knows of itself.
    /// - Throws: `ids`, `mode`; `keys` (`m.key_mismatch`).
    package func verify(
        id: String, mode: Mode, firstKey: Ed25519PublicKey, secondKey: Ed25519PublicKey
    ) throws(EncryptionError) {
        guard self.id.isExactly(id) else { throw .ids }
        guard self.mode == mode else { throw .mode }
        guard self.firstKey == firstKey, self.secondKey == secondKey else { throw .keys }
    }

    /// Whether a peer has scanned this code: what it sends back in base64 is the secret.
    package func isSecret(_ text: String) -> Bool { (try? UnpaddedBase64.decodeSecret(text)) == secret }

    package static func == (lhs: VerificationQRCode, rhs: VerificationQRCode) -> Bool {
        lhs.mode == rhs.mode && lhs.id.isExactly(rhs.id) && lhs.firstKey == rhs.firstKey
            && lhs.secondKey == rhs.secondKey && lhs.secret == rhs.secret
    }

    private static let header = Array("MATRIX".utf8)
    private static let version: UInt8 = 2
}
