package import MatrixEncryption

/// What changes in the records of an account's keys. They change together with the rest of a commit, or not at all: a key
/// must not be lost with the answer that brought it, and a ratchet never goes back.
package struct EncryptionChanges: Sendable {
    /// Nil removes.
    package private(set) var records: [RecordKey: SecretBytes?] = [:]
    /// A ratchet that sends has moved: what is committed must survive a power cut before anything is sent.
    package private(set) var movesSendingRatchet = false

    package init() {}

    package var isEmpty: Bool { records.isEmpty }

    /// Adds what a turn of the ``CryptoMachine`` has changed, which counts more than what was there.
    package mutating func add(_ records: Records) {
        self.records.merge(records.changes) { $1 }
        movesSendingRatchet = movesSendingRatchet || records.movesSendingRatchet
    }
}
