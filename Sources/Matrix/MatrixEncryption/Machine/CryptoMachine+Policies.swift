/// The rules for sharing keys (Documentation/Rules/encryption.md, "Sharing policies"). The user's choice is stored.
extension CryptoMachine {
    private static let policySetting = "policy"

    /// Returns the stored choice; `nil` for the default.
    static func storedPolicy(_ turn: inout CryptoTurn) throws(EncryptionError) -> SharingPolicy? {
        try turn.records.value(SettingRecord.self, key: policySetting).flatMap { UInt8($0.text) }
            .flatMap { SharingPolicy(rawValue: $0) }
    }

    package mutating func setPolicy(_ policy: SharingPolicy, _ turn: inout CryptoTurn) {
        self.policy = policy
        deviceEpoch += 1
        turn.records.set(SettingRecord("\(policy.rawValue)"), key: Self.policySetting)
    }

    /// Returns whether only verified devices receive a room's keys; `nil` to follow the policy.
    package func onlyVerified(in roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool? {
        try turn.records.value(EncryptedRoomRecord.self, key: roomId)?.onlyVerified
    }

    /// - Throws: `missingField` if the room is not encrypted.
    package mutating func setOnlyVerified(
        _ onlyVerified: Bool?, in roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard var room: EncryptedRoomRecord = try turn.records.value(key: roomId) else { throw .missingField }
        room.onlyVerified = onlyVerified
        turn.records.set(room, key: roomId)
        deviceEpoch += 1
    }
}
