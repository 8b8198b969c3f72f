/// Why bytes from a stranger are refused. No case holds a key, a plaintext or a passphrase: they may be logged.
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
    /// More objects and arrays inside each other than any honest object has.
    case depth

    // Primitives
    /// The result of a key agreement is zero: the other public key is of low order.
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
    /// More messages are missing than a peer may skip.
    case gap
    /// The message is older than what the key opens.
    case index
    case usedUp = "used up"
    case sessionKey = "session key"

    // Objects
    case ids
    case keys
    /// Made for an algorithm that this library doesn't know.
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

    // Who has sent a message
    case sender
    case recipient
    case recipientKeys = "recipient_keys"
    case announcedUser = "sender_device_keys.user_id"
    case announcedCurve25519 = "sender_device_keys.curve25519"
    case announcedEd25519 = "sender_device_keys.ed25519"
    case deviceKeys = "device keys"
    case unknownDevice = "unknown device"

    // Cross-signing
    /// What the server has is not known yet.
    case notKnown = "not known yet"
    case identityExists = "identity exists"
    case untrusted = "not trusted"
    case noPrivateKey = "no private key"
    /// The verification is not where this can be done.
    case unexpected

    // Keys and secrets that are passed on
    /// Nobody has asked for it.
    case unasked = "not asked for"
    /// One more than are kept of a stranger.
    case tooMany = "too many"
    case backupExists = "backup exists"

    // State of our own
    case state
    /// The records cannot be read.
    case store
}
