/// A store that is a copy, or was put back from a backup (Documentation/Rules/encryption.md, "Copied stores"): another
/// process may have sent, or may send, with the keys that are in it.
extension CryptoMachine {
    private static let copyScope = "store"
    private static let copyKey = "copy"
    private static let channelsBeforeKey = "channels before"

    /// What a store writes, with the transaction that notes where it is now, when it finds itself in another place or in an
    /// older state than it was. The next machine on it acts accordingly, once.
    package static var copyMark: (place: RecordKey, state: SecretBytes) {
        (RecordKey(.setting, scope: copyScope, key: copyKey), SettingRecord("yes").state)
    }

    /// Gives up all that was sent with: sessions of rooms, channels to devices, and ids of one-time keys. What can be read
    /// can still be read.
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

    /// The channel to send with. One from before the store was copied sends again when the other end has turned its ratchet.
    func sendingChannel(
        with key: Curve25519PublicKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> OlmSessionRecord? {
        try channels(with: key, &turn).first { $0.lastUsed > channelsBefore }
    }

    /// The time of use of a channel that is new, or whose ratchet the other end has turned.
    func timeOfUse(_ turn: CryptoTurn) -> UInt64 { max(turn.now, channelsBefore + 1) }
}
