import Basics
package import JSONBytes

/// The derivation of a key from a passphrase.
package struct PassphraseDerivation: Sendable, Equatable {
    /// The salt. Its characters are used as they are, without decoding.
    package let salt: String
    package let iterations: Int
    /// Whether the algorithm and the key length are supported.
    private let isKnown: Bool

    /// The maximum number of iterations to accept from a server: some ten seconds.
    package static let maximumIterations = 10_000_000

    /// Creates a derivation for a new key, which takes half a second on a typical machine.
    package init(random: RandomSource, iterations: Int = 500_000) {
        self.init(salt: random.text(32), iterations: iterations, isKnown: true)
    }

    private init(salt: String, iterations: Int, isKnown: Bool) {
        self.salt = salt
        self.iterations = iterations
        self.isKnown = isKnown
    }

    /// - Throws: `missingField` if the salt or the number of iterations is missing.
    fileprivate init(_ json: JSONView) throws(EncryptionError) {
        guard let salt = json["salt"]?.string, let iterations = json["iterations"]?.int else { throw .missingField }
        let bits = json["bits"]
        self.init(
            salt: salt, iterations: iterations,
            isKnown: json["algorithm"]?.string == "m.pbkdf2" && (bits == nil || bits?.int == 256))
    }

    /// Whether a server that knows the key's check could try many passphrases. Warn the user if so.
    package var isWeak: Bool { iterations < 100_000 }

    /// Derives the key. Takes about a microsecond per iteration, so call it in the background.
    ///
    /// - Throws: `passphrase` if the derivation is not supported, `rounds` for less than one iteration or more than
    ///   ``maximumIterations``.
    package func key(_ passphrase: String) throws(EncryptionError) -> SecretBytes {
        guard isKnown else { throw .passphrase }
        guard (1...Self.maximumIterations).contains(iterations) else { throw .rounds }
        return KeyDerivation.pbkdf2(passphrase: passphrase, salt: Array(salt.utf8), rounds: iterations, count: 32)
    }

    fileprivate var json: JSONWriter {
        var object = JSONWriter()
        object.add("algorithm", "m.pbkdf2")
        object.add("salt", salt)
        object.add("iterations", json: String(iterations))
        return object
    }
}

/// The description of a secret storage key in account data (`m.secret_storage.key.ID`), without the key itself.
package struct SecretStorageKeyDescription: Sendable, Equatable {
    package static let algorithm = "m.secret_storage.v1.aes-hmac-sha2"

    package let name: String?
    /// The derivation from a passphrase; `nil` if there is none.
    package let passphrase: PassphraseDerivation?
    /// An encryption of zeros, without its ciphertext, to recognise the right key.
    private let check: EncryptedSecret?
    /// The whole object, including unknown members.
    package let json: JSONView

    /// The result of checking a key.
    package enum KeyCheck: Sendable {
        /// The key is right.
        case passed
        /// The description does not allow a check. Store nothing new under the key, unless the user has just typed it
        /// and it opened a secret.
        case impossible
    }

    /// Creates the description of a new key, which the user receives as a ``RecoveryKey``.
    ///
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - passphrase: The derivation from a passphrase, if any.
    package init(
        of key: SecretBytes, name: String? = nil, passphrase: PassphraseDerivation? = nil, random: RandomSource
    ) {
        self.name = name
        self.passphrase = passphrase
        let zeros = EncryptedSecret(Self.zeros, name: "", key: key, random: random)
        check = EncryptedSecret(iv: zeros.iv, ciphertext: [], mac: zeros.mac)
        var object = JSONWriter()
        if let name { object.add("name", name) }
        object.add("algorithm", Self.algorithm)
        if let passphrase { object.add("passphrase", passphrase.json) }
        object.add("iv", UnpaddedBase64.encode(zeros.iv))
        object.add("mac", UnpaddedBase64.encode(zeros.mac))
        json = object.view
    }

    /// - Throws: `algorithm` if the kind of key is not supported; `missingField`, `base64` and `fieldLength` if it is
    ///   damaged.
    package init(_ json: JSONView) throws(EncryptionError) {
        guard json["algorithm"]?.string?.isExactly(Self.algorithm) == true else { throw .algorithm }
        name = json["name"]?.string
        passphrase = try json["passphrase"].map { json throws(EncryptionError) in try PassphraseDerivation(json) }
        if let iv = json["iv"]?.string, let mac = json["mac"]?.string {
            check = try EncryptedSecret(iv: UnpaddedBase64.decode(iv), ciphertext: [], mac: UnpaddedBase64.decode(mac))
            guard check?.iv.count == 16 else { throw .fieldLength }
        } else {
            check = nil
        }
        self.json = json.detached
    }

    /// - Throws: `wrongKey`.
    package func check(_ key: SecretBytes) throws(EncryptionError) -> KeyCheck {
        guard let check else { return .impossible }
        guard key.count == 32, check.isCode(ofPlaintext: Self.zeros, name: "", key: key) else { throw .wrongKey }
        return .passed
    }

    private static let zeros = SecretBytes(repeatElement(0, count: 32))
}
