import Basics
import JSONBytes

@testable import MatrixEncryption

/// The keys behind the corpora: each key is one byte, repeated, and the number of its owner.
enum KnownKeys {
    static let alice = account(1, 2)
    static let bob = account(3, 4, oneTimeKeys: [5])
    static let backup = pair(6)
    /// Alice's session in a room, from the beginning.
    static let outbound = known {
        OutboundGroupSession(
            key: try Ed25519KeyPair(seed: secret(7)), ratchet: MegolmRatchet(index: 0, parts: secret(8, count: 128)))
    }
    static let inbound = known { try InboundGroupSession(sessionKey: outbound.sessionKey) }
    static let storage = secret(9)
    /// Bob's session with Alice, who has sent one message and received an answer.
    static let session = known {
        var (hers, account) = (
            try alice.outboundSession(
                identityKey: bob.curve25519.publicKey, oneTimeKey: pair(5).publicKey, baseKey: pair(10),
                ratchetKey: pair(11)), bob
        )
        guard case .preKey(let first) = try hers.encrypt(secret(0), random: random(0)) else {
            throw EncryptionError.version
        }
        var (his, _) = try account.inboundSession(
            from: OlmPreKeyMessage(first), senderKey: alice.curve25519.publicKey)
        _ = try his.encrypt(secret(0), random: random(12))
        return his
    }

    static func secret(_ byte: UInt8, count: Int = 32) -> SecretBytes { SecretBytes(repeatElement(byte, count: count)) }

    static func pair(_ byte: UInt8) -> Curve25519KeyPair { known { try Curve25519KeyPair(privateKey: secret(byte)) } }

    static func random(_ byte: UInt8) -> RandomSource {
        RandomSource { buffer in for index in buffer.indices { buffer[index] = byte } }
    }

    private static func account(_ ed25519: UInt8, _ curve25519: UInt8, oneTimeKeys: [UInt8] = []) -> OlmAccount {
        known {
            var account = OlmAccount(
                ed25519: try Ed25519KeyPair(seed: secret(ed25519)), curve25519: pair(curve25519))
            for key in oneTimeKeys { account.addOneTimeKey(pair(key)) }
            return account
        }
    }

    /// Returns a value that does not depend on the input.
    static func known<Value>(_ make: () throws -> Value) -> Value {
        do {
            return try make()
        } catch {
            preconditionFailure("what the corpus is made with is refused: \(error)")
        }
    }
}

/// An Olm message. A rejected message changes nothing, and nothing is read twice.
func fuzzOlm(_ bytes: [UInt8]) throws(BrokenClaim) {
    if let message = try? OlmPreKeyMessage(bytes) {
        var account = KnownKeys.bob
        let alice = KnownKeys.alice.curve25519.publicKey
        if var (session, _) = try? account.inboundSession(from: message, senderKey: alice) {
            try claim("a session matches what opened it", session.matches(message))
            try claim("a one-time key serves once", account.oneTimeKeys.isEmpty)
            try checkThatNothingIsReadTwice(.preKey(bytes), &session)
        } else {
            try claim("a refusal changes no account", account == KnownKeys.bob)
        }
    }
    for message in [OlmMessage.normal(bytes), .preKey(bytes)] {
        var session = KnownKeys.session
        if (try? session.decrypt(message)) != nil {
            try checkThatNothingIsReadTwice(message, &session)
        } else {
            try claim("a refusal changes no session", session == KnownKeys.session)
        }
    }
}

private func checkThatNothingIsReadTwice(_ message: OlmMessage, _ session: inout OlmSession) throws(BrokenClaim) {
    let before = session
    try claim("nothing is read twice", (try? session.decrypt(message)) == nil)
    try claim("a refusal changes no session", session == before)
}

/// A Megolm message, or a session key in either form.
func fuzzMegolm(_ bytes: [UInt8]) throws(BrokenClaim) {
    if let message = try? MegolmMessage(bytes) {
        var session = KnownKeys.inbound
        if let text = try? session.decrypt(message) {
            var later = try? InboundGroupSession(exported: session.exported(at: message.index))
            try claim("a key from its index on reads it", (try? later?.decrypt(message)) == text)
        } else {
            try claim("a refusal changes no session", session == KnownKeys.inbound)
        }
    }
    let key = SecretBytes(bytes)
    if let shared = try? InboundGroupSession(sessionKey: key) {
        let exported = try? InboundGroupSession(exported: shared.exported())
        try claim("an export is the same session", exported?.isConnected(to: shared) == true)
    }
    if let session = try? InboundGroupSession(exported: key) {
        try claim("exported again it is the same", (try? session.exported()) == key)
        try claim("its last index can be reached", (try? session.exported(at: .max))?.count == key.count)
    }
}

/// Signed objects from a homeserver: device keys, cross-signing keys, one-time keys. Each is accepted only as its own
/// kind.
func fuzzSignedKeys(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard let view = JSONView(bytes) else { return }
    let user = view["user_id"]?.string ?? ""
    if let keys = try? DeviceKeys(view, user: user) {
        let stored = try? DeviceKeys(stored: keys.json, user: user, device: keys.deviceID)
        try claim("stored and read again it is the same", stored == keys)
        for usage in CrossSigningUsage.allCases {
            try claim(
                "a device's keys are no cross-signing key",
                (try? CrossSigningKey(view, user: user, usage: usage)) == nil)
        }
    }
    for usage in CrossSigningUsage.allCases {
        guard let key = try? CrossSigningKey(view, user: user, usage: usage) else { continue }
        try claim("its id is the key", key.id.isExactly("ed25519:" + key.publicKey.base64))
        try claim("no key vouches for itself", (try? key.verifySignature(by: key)) == nil)
    }
    let device = KnownKeys.known {
        try DeviceKeys(
            userID: "@alice:s", deviceID: "A", identityKey: KnownKeys.alice.curve25519.publicKey,
            fingerprint: KnownKeys.alice.ed25519)
    }
    if let key = try? SignedOneTimeKey(view, of: device) {
        try claim("a one-time key is no device", view["device_id"] == nil && key.json == view.detached)
    }
    if let canonical = try? CanonicalJSON.bytes(of: view) {
        let again = JSONView(canonical).flatMap { try? CanonicalJSON.bytes(of: $0) }
        try claim("the canonical form is JSON, and its own", again == canonical)
    }
    let pair = KnownKeys.bob.ed25519
    if let signed = try? SignedJSON.sign(view, with: pair, user: "@bob:s", keyID: "ed25519:B") {
        try claim(
            "what was signed verifies",
            (try? SignedJSON.verify(signed, with: pair.publicKey, user: "@bob:s", keyID: "ed25519:B")) != nil)
    }
}

func fuzzEncryptedFiles(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard let view = JSONView(bytes), let file = try? EncryptedFile(view) else { return }
    try claim("its parts have their lengths", file.key.count == 32 && file.iv.count == 16 && file.hash.count == 32)
    try claim("written and read again it is the same", (try? EncryptedFile(file.json)) == file)
    var check = AttachmentCheck(of: file)
    check.update(bytes)
    let decryptor = try? check.finish()
    try claim("a file does not describe itself", decryptor == nil)
}

/// A file of exported keys, or its JSON.
func fuzzKeyExport(_ bytes: [UInt8]) throws(BrokenClaim) {
    if (try? KeyExport.json(of: bytes, passphrase: "fuzz", maximumRounds: 4)) != nil {
        let other = try? KeyExport.json(of: bytes, passphrase: "fuzzy", maximumRounds: 4)
        try claim("another passphrase opens nothing", other == nil)
    }
    guard let (total, sessions) = try? KeyExport.sessions(in: SecretBytes(bytes)) else { return }
    try claim("no more than there are", sessions.count <= total)
    let again = try? KeyExport.sessions(in: KeyExport.json(of: sessions))
    try claim("written and read again they are the same", again?.total == sessions.count && again?.sessions == sessions)
}

/// An entry of a backup, its plaintext, or the description of the backup.
func fuzzKeyBackup(_ bytes: [UInt8]) throws(BrokenClaim) {
    if let session = try? ExportedSession(SecretBytes(bytes)) {
        let again = try? ExportedSession(session.backupJSON, roomID: session.roomID, sessionID: session.sessionID)
        try claim("written and read again it is the same", again == session)
        try claim("its key opens a session of that id", opens(session))
    }
    guard let view = JSONView(bytes) else { return }
    if let text = try? KeyBackup.decrypt(view, with: KnownKeys.backup) {
        let other = try? KeyBackup.decrypt(view, with: KnownKeys.pair(13))
        try claim("another key opens nothing", other == nil)
        _ = try? ExportedSession(text, roomID: "!r:s")
    }
    if let authData = try? KeyBackupAuthData(view) {
        try claim("nobody vouches for it", !authData.isTrusted(user: "@bob:s", trusted: [:]))
        let isOurs = authData.publicKey == KnownKeys.backup.publicKey
        try claim(
            "its private key is enough",
            authData.isTrusted(user: "@bob:s", trusted: [:], privateKey: KnownKeys.backup) == isOurs)
    }
}

private func opens(_ session: ExportedSession) -> Bool {
    (try? InboundGroupSession(exported: session.sessionKey))?.id.isExactly(session.sessionID) == true
}

/// Secrets and keys in account data, and user input.
func fuzzSecretStorage(_ bytes: [UInt8]) throws(BrokenClaim) {
    if let key = try? RecoveryKey.key(String(decoding: bytes, as: UTF8.self)) {
        try claim("written and read again it is the same", (try? RecoveryKey.key(RecoveryKey.text(of: key))) == key)
    }
    guard let view = JSONView(bytes) else { return }
    for secret in [try? EncryptedSecret(view), try? EncryptedSecret(in: view, keyID: "k")].compactMap(\.self) {
        try claim("written and read again it is the same", (try? EncryptedSecret(secret.json)) == secret)
        guard (try? secret.decrypt(name: "m.secret", key: KnownKeys.storage)) != nil else { continue }
        try claim(
            "under another name it is nothing", (try? secret.decrypt(name: "m.other", key: KnownKeys.storage)) == nil)
        _ = try? secret.decryptKey(name: "m.secret", key: KnownKeys.storage)
    }
    if let description = try? SecretStorageKeyDescription(view), (try? description.check(KnownKeys.storage)) == .passed
    {
        try claim("another key fails", (try? description.check(KnownKeys.secret(13))) == nil)
    }
}

/// A scanned code, or the content of any verification message.
func fuzzVerification(_ bytes: [UInt8]) throws(BrokenClaim) {
    if let code = try? VerificationQRCode(bytes) {
        try claim("written again it is the same", code.bytes == bytes)
        try claim("its secret is its own", code.isSecret(UnpaddedBase64.encode(code.secret)))
    }
    guard let view = JSONView(bytes) else { return }
    let types: [VerificationEventType] = [.ready, .start, .accept, .key, .mac, .done, .cancel]
    for type in types {
        guard let message = try? VerificationMessage(type, view) else { continue }
        try claim("the content alone decides", (try? VerificationMessage(type, view.detached)) == message)
    }
    if let request = VerificationRequest(view) { try claim("a request comes from a device", !request.device.isEmpty) }
    let key = KnownKeys.alice.curve25519.publicKey
    if let commitment = try? ShortAuthenticationString.commitment(key: key, start: view) {
        let isRight = (try? ShortAuthenticationString.verify(commitment: commitment, key: key, start: view)) != nil
        try claim("a commitment is to what it is made of", isRight)
    }
    let known = ["ed25519:A": KnownKeys.alice.ed25519.publicKey]
    for method in SASCodeMethod.allCases {
        let party = SASParty(userID: "@a:s", deviceID: "A", key: key)
        let codes = SASAuthentication(
            secret: KnownKeys.storage, method: method, sender: party, receiver: party, transactionID: "t")
        if let ids = try? codes.verify(view, known: known) {
            try claim("a key that was verified is known", ids == ["ed25519:A"])
        }
    }
}
