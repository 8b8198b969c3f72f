import JSONBytes

/// This device's keys on the server, with which others open channels (Documentation/Rules/encryption.md, "One-time
/// keys").
extension CryptoMachine {
    private static let deviceKeysUploaded = "device keys uploaded"

    /// Returns whether the server has this device's keys.
    func isPublished(_ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        try turn.records.value(SettingRecord.self, key: Self.deviceKeysUploaded) != nil
    }

    /// Applies the counts of a sync. Both are `nil` if the server does not report them.
    mutating func noteCounts(_ count: Int?, unusedFallbackKeys: [String]?) {
        guard count != nil || unusedFallbackKeys != nil else { return }
        oneTimeKeyCount = max(0, count ?? 0)  // servers don't report zero
        if !isLowOnKeys { pauses[CryptoRequest.Call.uploadKeys.kind] = nil }
        if let unusedFallbackKeys { isFallbackKeyUsed = !unusedFallbackKeys.contains("signed_curve25519") }
    }

    mutating func keyUpload(_ turn: inout CryptoTurn) throws(EncryptionError) -> CryptoRequest? {
        guard !areUploadsRefused, !isInFlight("upload"), !isPaused("upload", turn) else { return nil }
        let isFirst = try !isPublished(&turn)
        try replaceFallbackKey(&turn, isFirst: isFirst)
        if isFirst || isLowOnKeys {
            let missing = OlmAccount.publishedOneTimeKeys - (isFirst ? 0 : oneTimeKeyCount ?? 0)
            account.makeOneTimeKeys(missing, random: turn.random)
        }
        let oneTimeKeys = account.unpublishedOneTimeKeys
        let fallbackKey = account.fallbackKey.flatMap { $0.isPublished ? nil : $0 }
        guard isFirst || !oneTimeKeys.isEmpty || fallbackKey != nil else { return nil }
        turn.records.set(account)
        var body = JSONWriter()
        if isFirst { body.add("device_keys", deviceKeys.json) }
        if !oneTimeKeys.isEmpty { body.add("one_time_keys", try signed(oneTimeKeys, isFallback: false)) }
        if let fallbackKey { body.add("fallback_keys", try signed([fallbackKey], isFallback: true)) }
        return request(.uploadKeys, body: body.text)
    }

    private var isLowOnKeys: Bool { (oneTimeKeyCount ?? .max) < OlmAccount.publishedOneTimeKeys / 2 }

    private mutating func replaceFallbackKey(_ turn: inout CryptoTurn, isFirst: Bool) throws(EncryptionError) {
        guard isFirst ? account.fallbackKey == nil : isFallbackKeyUsed else { return }
        isFallbackKeyUsed = false
        // A key that has not reached the server yet is as good as new.
        guard account.fallbackKey?.isPublished != false else { return }
        account.replaceFallbackKey(random: turn.random)
    }

    private func signed(_ keys: [OlmAccount.OneTimeKey], isFallback: Bool) throws(EncryptionError) -> JSONWriter {
        var object = JSONWriter()
        for key in keys {
            object.add(
                "signed_curve25519:" + key.id,
                try SignedOneTimeKey.json(
                    key.publicKey, isFallback: isFallback, userID: me.user, deviceID: me.device,
                    fingerprint: account.ed25519))
        }
        return object
    }

    /// - Parameter pause: The pause before the upload.
    mutating func uploaded(
        _ request: CryptoRequest, _ answer: JSONView, after pause: Pause?, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let body = JSONView(Array(request.body.utf8))
        func ids(_ section: String) -> [String] {
            body?[section]?.members.map { String($0.key.dropFirst("signed_curve25519:".count)) } ?? []
        }
        account.markPublished(oneTimeKeys: Set(ids("one_time_keys")), fallbackKey: ids("fallback_keys").first)
        turn.records.set(account)
        oneTimeKeyCount = answer["one_time_key_counts"]?["signed_curve25519"]?.int.map { max(0, $0) }
        if body?["device_keys"] != nil {
            turn.records.set(SettingRecord("yes"), key: Self.deviceKeysUploaded)
        } else if body?["one_time_keys"] != nil {
            // Avoid endless uploads to a server that keeps none: the next sync that reports them ends the pause.
            pauses[request.call.kind] = pause
            pauses[request.call.kind, default: Pause()].fail(at: turn.now)
        }
    }
}

/// A single value.
struct SettingRecord: Record, Equatable {
    static let kind = RecordKind.setting
    private static let version: UInt8 = 1

    let text: String

    init(_ text: String) { self.text = text }

    /// The space-separated numbers in the text.
    var numbers: [Int] { text.split(separator: " ").compactMap { Int($0) } }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(text)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        text = try reader.text()
        try reader.end()
    }
}
