import Basics
package import JSONBytes

/// How a passphrase becomes a key.
package struct PassphraseDerivation: Sendable, Equatable {
    /// Its characters are the salt, whatever they look like.
    package let salt: String
    package let iterations: Int
    /// What makes the passphrase unusable for us: another algorithm, or a key of another length.
    private let isKnown: Bool

    /// What a server may ask of us at most: some ten seconds.
    package static let maximumIterations = 10_000_000

    /// For a new key: half a second on a usual machine.
    package init(random: RandomSource, iterations: Int = 500_000) {
        self.init(salt: random.text(32), iterations: iterations, isKnown: true)
    }

    private init(salt: String, iterations: Int, isKnown: Bool) {
        self.salt = salt
        self.iterations = iterations
        self.isKnown = isKnown
    }

    /// - Throws: `missingField` without a salt or a number of iterations.
    fileprivate init(_ json: JSONView) throws(EncryptionError) {
        guard let salt = json["salt"]?.string, let iterations = json["iterations"]?.int else { throw .missingField }
        let bits = json["bits"]
        self.init(
            salt: salt, iterations: iterations,
            isKnown: json["algorithm"]?.string == "m.pbkdf2" && (bits == nil || bits?.int == 256))
    }

    /// Whether a server that knows the key's check could try many passphrases: tell the user.
    package var isWeak: Bool { iterations < 100_000 }

    /// Takes about a microsecond an iteration: call it where nobody waits.
    ///
    /// - Throws: `passphrase` if the key isn't made in the way that we know, `rounds` for less than one iteration or more
    ///   than ``maximumIterations``.
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

/// What account data say of a key of the secret storage (`m.secret_storage.key.ID`), without saying the key.
package struct SecretStorageKeyDescription: Sendable, Equatable {
    package static let algorithm = "m.secret_storage.v1.aes-hmac-sha2"

    package let name: String?
    /// How it comes from a passphrase; nil if it doesn't.
    package let passphrase: PassphraseDerivation?
    /// Of an encryption of zeros, by which the right key is known; without its ciphertext.
    private let check: EncryptedSecret?
    /// The whole object, with members that we don't know.
    package let json: JSONView

    /// What a key is worth.
    package enum KeyCheck: Sendable {
        /// It is the key.
        case passed
        /// The description says nothing to check it by. Store nothing new under it, unless the user has just typed it and it
        /// opened a secret.
        case impossible
    }

    /// A new key, for which the user gets ``RecoveryKey``.
    ///
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - passphrase: How the key came from a passphrase, if it did.
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

    /// - Throws: `algorithm` for a kind of key that we don't know; `missingField`, `base64` and `fieldLength` for what is
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
