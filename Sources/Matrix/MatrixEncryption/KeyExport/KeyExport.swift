import JSONBytes

/// The file with which users move their room keys to another client.
///
/// Contains, between two marker lines, base64 of `01 salt(16) IV(16) rounds(4) ciphertext code(32)`.
package enum KeyExport {
    /// The maximum number of rounds to accept from a file: some twenty seconds.
    package static let maximumRounds = 10_000_000

    private static let begin = "-----BEGIN MEGOLM SESSION DATA-----"
    private static let end = "-----END MEGOLM SESSION DATA-----"
    private static let version: UInt8 = 1

    // MARK: The file

    /// Encrypts the JSON in about two microseconds per round: call it in the background. Keep the file private (0600).
    ///
    /// - Parameter rounds: The rounds of PBKDF2, 1…2³² − 1. Some clients accept no more than ``maximumRounds``.
    package static func file(
        of json: SecretBytes, passphrase: String, rounds: Int = 500_000, random: RandomSource
    ) -> String {
        let salt = random.bytes(16)
        let iv = EncryptedSecret.iv(random: random)
        let keys = Keys(passphrase, salt, rounds)
        var bytes = [version] + salt + iv
        bytes += stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: rounds >> $0) }
        AES256.ctr(json, key: keys.aes, iv: iv).withUnsafeBytes { bytes += $0 }
        KeyDerivation.hmac(key: keys.mac, bytes).withUnsafeBytes { bytes += $0 }
        return armoured(bytes)
    }

    /// Decrypts a file. Takes about two microseconds per round, so call it in the background.
    ///
    /// - Throws: `armour` if the markers are missing, `base64`, `version`, `rounds` for none or too many, `mac` for a
    ///   wrong passphrase or a damaged file.
    package static func json(
        of file: [UInt8], passphrase: String, maximumRounds: Int = maximumRounds
    ) throws(EncryptionError) -> SecretBytes {
        let bytes = try unarmoured(file)
        guard bytes.count >= 69, bytes[0] == version else { throw .version }
        let rounds = bytes[33..<37].reduce(0) { $0 << 8 | Int($1) }
        guard (1...maximumRounds).contains(rounds) else { throw .rounds }
        let keys = Keys(passphrase, Array(bytes[1..<17]), rounds)
        guard
            KeyDerivation.isCode(
                Array(bytes.suffix(32)), of: Array(bytes.dropLast(32)), key: keys.mac, length: 32)
        else { throw .mac }
        return AES256.ctr(SecretBytes(bytes[37...].dropLast(32)), key: keys.aes, iv: Array(bytes[17..<33]))
    }

    private struct Keys {
        let aes: SecretBytes
        let mac: SecretBytes

        init(_ passphrase: String, _ salt: [UInt8], _ rounds: Int) {
            let keys = KeyDerivation.pbkdf2(passphrase: passphrase, salt: salt, rounds: rounds, count: 64)
            (aes, mac) = (keys[0..<32], keys[32..<64])
        }
    }

    /// Returns padded base64 in lines of 96 characters.
    private static func armoured(_ bytes: [UInt8]) -> String {
        var text = Array(UnpaddedBase64.encode(bytes).utf8)
        text += repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
        let lines = stride(from: 0, to: text.count, by: 96).map { start in
            String(decoding: text[start..<min(start + 96, text.count)], as: UTF8.self)
        }
        return ([begin] + lines + [end]).map { $0 + "\n" }.joined()
    }

    /// Returns the bytes between the markers. Surrounding text and the kind of line ends are ignored.
    private static func unarmoured(_ file: [UInt8]) throws(EncryptionError) -> [UInt8] {
        // Work on bytes, since CR and LF form a single Character of a String.
        let blanks = Set(" \t\r".utf8)
        let lines = file.split(separator: UInt8(ascii: "\n")).map { line in
            line.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed()
        }
        guard let first = lines.firstIndex(where: { $0.elementsEqual(begin.utf8) }),
            let last = lines[first...].firstIndex(where: { $0.elementsEqual(end.utf8) })
        else { throw .armour }
        return try UnpaddedBase64.decode(
            String(decoding: lines[(first + 1)..<last].joined(), as: UTF8.self))
    }

    // MARK: Contents

    /// Returns the JSON of a file.
    package static func json(of sessions: [ExportedSession]) -> SecretBytes {
        let separators = sessions.indices.map { SecretBytes(($0 == 0 ? "[" : ",").utf8) }
        let parts = zip(separators, sessions).flatMap { [$0, $1.fileJSON] }
        return SecretBytes(joining: parts + [SecretBytes((sessions.isEmpty ? "[]" : "]").utf8)])
    }

    /// Returns the usable sessions, and the total number in the file.
    ///
    /// - Throws: `notJSON` if it is not an array.
    package static func sessions(
        in json: SecretBytes
    ) throws(EncryptionError) -> (total: Int, sessions: [ExportedSession]) {
        let bytes = json.withUnsafeBytes { Array($0) }
        guard JSONView.isJSON(bytes), let entries = JSONView(bytes)?.array else { throw .notJSON }
        return (entries.count, entries.compactMap { try? ExportedSession($0) })
    }
}
