/// Handles a store that is a copy or was restored from a backup (Documentation/Rules/encryption.md, "Copied stores"):
/// another process may have used or may use the keys in it for sending.
extension CryptoMachine {
    private static let copyScope = "store"
    private static let copyKey = "copy"
    private static let channelsBeforeKey = "channels before"

    /// The record that a store writes when it finds itself in another place or in an older state, in the transaction
    /// that notes its current place. The next machine that opens the store acts on it, once.
    package static var copyMark: (place: RecordKey, state: SecretBytes) {
        (RecordKey(.setting, scope: copyScope, key: copyKey), SettingRecord("yes").state)
    }

    /// Discards everything that was used for sending: room sessions, channels to devices, and ids of one-time keys.
    /// Received messages can still be decrypted.
    mutating func noteCopy(_ turn: inout CryptoTurn) throws(EncryptionError) {
        if let text = try turn.records.value(SettingRecord.self, key: Self.channelsBeforeKey)?.text {
            channelsBefore = UInt64(text) ?? 0
        }
        guard try turn.records.value(SettingRecord.self, scope: Self.copyScope, key: Self.copyKey) != nil else {
            return
        }
        for (roomId, _) in try turn.records.values(OutboundSessionRecord.self) { try discardSession(of: roomId, &turn) }
        account.jumpKeyIds()
        if account.fallbackKey != nil { account.replaceFallbackKey(random: turn.random) }
        turn.records.set(account)
        channelsBefore = max(turn.now, channelsBefore)
        turn.records.set(SettingRecord("\(channelsBefore)"), key: Self.channelsBeforeKey)
        turn.records.remove(.setting, scope: Self.copyScope, key: Self.copyKey)
        turn.notices.append(.storeWasCopied)
    }

    /// Returns the channel for sending. A channel from before a copy is used again once the other end has turned its
    /// ratchet.
    func sendingChannel(
        with key: Curve25519PublicKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> OlmSessionRecord? {
        try channels(with: key, &turn).first { $0.lastUsed > channelsBefore }
    }

    /// Returns the time of use for a channel that is new, or whose ratchet the other end has turned.
    func timeOfUse(_ turn: CryptoTurn) -> UInt64 { max(turn.now, channelsBefore + 1) }
}
