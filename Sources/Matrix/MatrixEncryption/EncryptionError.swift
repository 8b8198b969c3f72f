/// The reason why untrusted bytes are refused. No case contains a key, a plaintext or a passphrase: they can be logged.
package enum EncryptionError: String, Error, Equatable, Sendable {
    // Encodings
    case base64
    case varint
    case wireType = "wire type"
    case length
    case fieldLength = "field length"
    case missingField = "missing field"
    case version
    case float
    case integerRange = "integer range"
    case notJSON = "not JSON"
    /// Deeper nesting of objects and arrays than in any legitimate object.
    case depth

    // Primitives
    /// The key agreement resulted in zero: the other public key is of low order.
    case lowOrder = "low order"
    case keyLength = "key length"
    case keyEncoding = "key encoding"
    case signature
    case noSignature = "no signature"
    case mac
    case padding

    // Olm and Megolm
    case identity
    case oneTimeKey = "one-time key"
    case noChain = "no chain"
    case noSession = "no session"
    /// A replay, or a message whose key is gone.
    case messageKey = "message key"
    /// The number of missing messages exceeds what a peer may skip.
    case gap
    /// The message is older than the first one that the key decrypts.
    case index
    case usedUp = "used up"
    case sessionKey = "session key"

    // Objects
    case ids
    case keys
    /// The algorithm is not supported by this library.
    case algorithm
    case attachmentVersion = "attachment version"
    case attachmentKey = "attachment key"
    case hash
    case base58
    case prefix
    case parity
    case passphrase
    case wrongKey = "wrong key"
    case armour
    case rounds
    case header
    case mode

    // The sender of a message
    case sender
    case recipient
    case recipientKeys = "recipient_keys"
    case announcedUser = "sender_device_keys.user_id"
    case announcedCurve25519 = "sender_device_keys.curve25519"
    case announcedEd25519 = "sender_device_keys.ed25519"
    case deviceKeys = "device keys"
    case unknownDevice = "unknown device"

    // Cross-signing
    /// The server's data has not been fetched yet.
    case notKnown = "not known yet"
    case identityExists = "identity exists"
    case untrusted = "not trusted"
    case noPrivateKey = "no private key"
    /// The verification is not in a state that allows this.
    case unexpected

    // Forwarded keys and secrets
    /// It was not requested.
    case unasked = "not asked for"
    /// The limit for untrusted senders is exceeded.
    case tooMany = "too many"
    case backupExists = "backup exists"

    // Our own state
    case state
    /// The records cannot be read.
    case store
}
