import Basics
package import JSONBytes

/// The methods for computing the codes with which each side, after the comparison, proves its keys.
package enum SASCodeMethod: String, Sendable, CaseIterable {
    case v2 = "hkdf-hmac-sha256.v2"
    /// These codes in a broken base64 that was never corrected, for peers that support nothing else.
    case v1 = "hkdf-hmac-sha256"
}

/// Creates and checks the codes of one side's keys: the content of `m.key.verification.mac`.
package struct SASAuthentication: Sendable {
    private let secret: SecretBytes
    private let method: SASCodeMethod
    private let prefix: String

    /// - Parameters:
    ///   - secret: The shared secret of the two parties' keys.
    ///   - sender: The owner of these keys, who sends the codes.
    package init(
        secret: SecretBytes, method: SASCodeMethod, sender: SASParty, receiver: SASParty, transactionID: String
    ) {
        self.secret = secret
        self.method = method
        let parties = [sender.userID, sender.deviceID, receiver.userID, receiver.deviceID]
        prefix = "MATRIX_KEY_VERIFICATION_MAC" + parties.joined() + transactionID
    }

    /// - Parameter keys: The keys by id, such as `ed25519:DEVICE`.
    /// - Returns: `mac` and `keys`.
    package func content(of keys: [String: Ed25519PublicKey]) -> JSONView {  // own names: of a verification
        let keys = keys.sorted { $0.key.precedesExactly($1.key) }
        var codes = JSONWriter()
        for (id, key) in keys { codes.add(id, code(of: key.base64, keyID: id)) }
        var content = JSONWriter()
        content.add("mac", codes)
        content.add("keys", code(of: keys.map(\.key).joined(separator: ","), keyID: "KEY_IDS"))
        return content.view
    }

    /// - Parameters:
    ///   - content: The content received from the peer.
    ///   - known: The known keys of the peer, fixed at the beginning of the verification.
    /// - Returns: The ids of the keys that the peer has proved. Other keys are ignored.
    /// - Throws: `mac` if a code is wrong, `keys` if the peer sent no known key. Both mean `m.key_mismatch`.
    package func verify(
        _ content: JSONView, known: [String: Ed25519PublicKey]  // own names: of a verification
    ) throws(EncryptionError) -> [String] {
        let codes = content["mac"]?.canonicalMembers ?? []
        let list = codes.map(\.key).joined(separator: ",")
        guard let sent = content["keys"]?.string, isCode(sent, of: list, keyID: "KEY_IDS") else { throw .mac }
        var verified: [String] = []
        for (id, code) in codes {
            guard let key = known.first(where: { $0.key.isExactly(id) })?.value else { continue }
            guard let code = code.string, isCode(code, of: key.base64, keyID: id) else { throw .mac }
            verified.append(id)
        }
        guard !verified.isEmpty else { throw .keys }
        return verified
    }

    private func code(of text: String, keyID: String) -> String {
        let bytes = bytes(of: text, keyID: keyID)
        switch method {
        case .v2: return UnpaddedBase64.encode(bytes)
        case .v1: return Self.brokenBase64(bytes)
        }
    }

    private func isCode(_ code: String, of text: String, keyID: String) -> Bool {
        switch method {
        case .v2: (try? UnpaddedBase64.decodeSecret(code)) == bytes(of: text, keyID: keyID)
        case .v1: SecretBytes(code.utf8) == SecretBytes(self.code(of: text, keyID: keyID).utf8)
        }
    }

    private func bytes(of text: String, keyID: String) -> SecretBytes {
        KeyDerivation.hmac(
            key: KeyDerivation.hkdf(secret, info: prefix + keyID, count: 32), Array(text.utf8))
    }

    /// Returns libolm's faulty encoding: four characters for each three bytes, written over input that it had yet to
    /// read.
    ///
    /// - Parameter code: 32 bytes.
    private static func brokenBase64(_ code: SecretBytes) -> String {
        var buffer = code.withUnsafeBytes { Array($0) } + [UInt8](repeating: 0, count: 11)
        for group in 0..<11 {
            let input = buffer[3 * group..<min(3 * group + 3, 32)]
            let digits = UnpaddedBase64.encode(input).utf8
            buffer.replaceSubrange(4 * group..<4 * group + digits.count, with: digits)
        }
        return String(decoding: buffer, as: UTF8.self)
    }
}
