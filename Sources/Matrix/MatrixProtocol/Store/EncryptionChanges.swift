package import MatrixEncryption

/// The changes in the records of an account's keys. They are committed together with other changes or not at all: a key
/// must not be lost with the answer that contained it, and a ratchet must never go back.
package struct EncryptionChanges: Sendable {
    /// The records to store; `nil` removes one.
    package private(set) var records: [RecordKey: SecretBytes?] = [:]
    /// Whether a sending ratchet has advanced. The commit must then survive a power failure before anything is sent.
    package private(set) var movesSendingRatchet = false

    package init() {}

    package var isEmpty: Bool { records.isEmpty }

    /// Adds the changes of a turn of the ``CryptoMachine``. They override earlier ones.
    package mutating func add(_ records: Records) {
        self.records.merge(records.changes) { $1 }
        movesSendingRatchet = movesSendingRatchet || records.movesSendingRatchet
    }
}
