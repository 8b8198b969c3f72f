import Basics
package import JSONBytes

/// One side of a verification, with the key that it made for this verification alone.
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

/// How the bytes to compare come from the shared secret.
package enum SASKeyAgreement: String, Sendable, CaseIterable {
    case hkdf = "curve25519-hkdf-sha256"
    /// Old: the keys are not among what is compared. It is not offered.
    case old = "curve25519"
}

/// What both sides show, and both users compare: with a key swapped on the way, the two differ.
package struct ShortAuthenticationString: Sendable, Equatable {
    /// 6 bytes.
    package let bytes: [UInt8]

    /// - Parameters:
    ///   - secret: Of the two parties' keys.
    ///   - starter: Who sent `m.key.verification.start`.
    ///   - accepter: Who answered it.
    package init(
        secret: SecretBytes, starter: SASParty, accepter: SASParty, transactionID: String,
        keyAgreement: SASKeyAgreement = .hkdf
    ) {
        let info = Self.info(starter, accepter, transactionID, keyAgreement)
        bytes = KeyDerivation.hkdf(secret, info: info, count: 6).withUnsafeBytes { Array($0) }
    }

    /// - Throws: `length` unless there are 6.
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

    /// Seven, of 6 bits each.
    package var emoji: [SASEmoji] { (0..<7).map { SASEmoji.all[bits(6 * $0, 6)] } }

    /// Three numbers of 1000…9191, of 13 bits each.
    package var decimals: [Int] { (0..<3).map { 1_000 + bits(13 * $0, 13) } }

    private func bits(_ first: Int, _ count: Int) -> Int {
        let number = bytes.reduce(0) { $0 << 8 | Int($1) }
        return number >> (48 - first - count) & (1 << count - 1)
    }

    // MARK: The commitment

    /// What the accepter sends before he knows the starter's key, so that he cannot choose his own to match.
    ///
    /// - Parameters:
    ///   - key: The accepter's.
    ///   - start: The whole content of the start event as it was received, with members that nobody knows, and with
    ///     `m.relates_to` even if that stood outside of an encrypted event.
    /// - Throws: What ``CanonicalJSON`` refuses.
    package static func commitment(
        key: Curve25519PublicKey, start: JSONView
    ) throws(EncryptionError) -> String {
        UnpaddedBase64.encode(Digest.sha256(Array(key.base64.utf8) + (try CanonicalJSON.bytes(of: start))))
    }

    /// - Throws: `hash` unless the key is the one that was committed to (`m.mismatched_commitment`).
    package static func verify(
        commitment: String, key: Curve25519PublicKey, start: JSONView
    ) throws(EncryptionError) {
        let right = try UnpaddedBase64.decodeSecret(Self.commitment(key: key, start: start))
        guard let sent = try? UnpaddedBase64.decodeSecret(commitment), sent == right else { throw .hash }
    }
}
