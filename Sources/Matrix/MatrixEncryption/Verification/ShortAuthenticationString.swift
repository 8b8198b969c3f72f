import Basics
package import JSONBytes

/// One side of a verification, with the key that it created only for this verification.
package struct SASParty: Sendable, Equatable {
    package let userID: String
    package let deviceID: String
    package let key: Curve25519PublicKey

    package init(userID: String, deviceID: String, key: Curve25519PublicKey) {
        self.userID = userID
        self.deviceID = deviceID
        self.key = key
    }
}

/// The derivation of the bytes to compare from the shared secret.
package enum SASKeyAgreement: String, Sendable, CaseIterable {
    case hkdf = "curve25519-hkdf-sha256"
    /// The old method, which does not derive the bytes from the public keys as well. It is not offered.
    case old = "curve25519"
}

/// The values that both sides show and both users compare. If a key was swapped in transit, they differ.
package struct ShortAuthenticationString: Sendable, Equatable {
    /// 6 bytes.
    package let bytes: [UInt8]

    /// - Parameters:
    ///   - secret: The shared secret of the two parties' keys.
    ///   - starter: The side that sent `m.key.verification.start`.
    ///   - accepter: The side that answered it.
    package init(
        secret: SecretBytes, starter: SASParty, accepter: SASParty, transactionID: String,
        keyAgreement: SASKeyAgreement = .hkdf
    ) {
        let info = Self.info(starter, accepter, transactionID, keyAgreement)
        bytes = KeyDerivation.hkdf(secret, info: info, count: 6).withUnsafeBytes { Array($0) }
    }

    /// - Throws: `length` if there are not 6 bytes.
    package init(bytes: [UInt8]) throws(EncryptionError) {
        guard bytes.count == 6 else { throw .length }
        self.bytes = bytes
    }

    static func info(
        _ starter: SASParty, _ accepter: SASParty, _ transactionID: String, _ keyAgreement: SASKeyAgreement
    ) -> String {
        switch keyAgreement {
        case .hkdf:
            let parties = [starter, accepter].flatMap { [$0.userID, $0.deviceID, $0.key.base64] }
            return (["MATRIX_KEY_VERIFICATION_SAS"] + parties + [transactionID]).joined(separator: "|")
        case .old:
            let parties = [starter, accepter].flatMap { [$0.userID, $0.deviceID] }
            return (["MATRIX_KEY_VERIFICATION_SAS"] + parties + [transactionID]).joined()
        }
    }

    /// Seven emoji, of 6 bits each.
    package var emoji: [SASEmoji] { (0..<7).map { SASEmoji.all[bits(6 * $0, 6)] } }

    /// Three numbers, 1000…9191, of 13 bits each.
    package var decimals: [Int] { (0..<3).map { 1_000 + bits(13 * $0, 13) } }

    private func bits(_ first: Int, _ count: Int) -> Int {
        let number = bytes.reduce(0) { $0 << 8 | Int($1) }
        return number >> (48 - first - count) & (1 << count - 1)
    }

    // MARK: The commitment

    /// Returns the commitment that the accepter sends before receiving the starter's key, to prevent a matching choice.
    ///
    /// - Parameters:
    ///   - key: The accepter's key.
    ///   - start: The complete content of the start event as received, including unknown members, and including
    ///     `m.relates_to` even if it was outside of an encrypted event.
    /// - Throws: The errors of ``CanonicalJSON``.
    package static func commitment(
        key: Curve25519PublicKey, start: JSONView
    ) throws(EncryptionError) -> String {
        UnpaddedBase64.encode(Digest.sha256(Array(key.base64.utf8) + (try CanonicalJSON.bytes(of: start))))
    }

    /// - Throws: `hash` if the key does not match the commitment (`m.mismatched_commitment`).
    package static func verify(
        commitment: String, key: Curve25519PublicKey, start: JSONView
    ) throws(EncryptionError) {
        let right = try UnpaddedBase64.decodeSecret(Self.commitment(key: key, start: start))
        guard let sent = try? UnpaddedBase64.decodeSecret(commitment), sent == right else { throw .hash }
    }
}
