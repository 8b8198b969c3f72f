import JSONBytes

/// Olm sessions with other devices: which one is used for sending, and how new ones are created
/// (Documentation/Rules/encryption.md, "Olm channels").
extension CryptoMachine {
    private static let maximumChannels = 20
    /// The minimum time in milliseconds between two new channels to a device whose channel was out of step.
    static let unwedgingInterval: UInt64 = 3_600_000
    /// The maximum number of devices in a claim.
    private static let devicesOfAClaim = 1_000

    // MARK: Sending

    /// Returns the channels to a device, starting with the one used for sending.
    func channels(
        with key: Curve25519PublicKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> [OlmSessionRecord] {
        // If two are equally old, the greater id wins, so that both ends agree.
        try turn.records.values(OlmSessionRecord.self, scope: key.base64).map(\.value)
            .sorted { ($0.lastUsed, $0.session.id) > ($1.lastUsed, $1.session.id) }
    }

    /// Returns the content of an `m.room.encrypted` event for a device.
    ///
    /// - Returns: `nil` if there is no channel to it.
    mutating func encrypt(
        _ type: String, _ content: JSONView, for device: DeviceKeys, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> JSONView? {
        guard var channel = try sendingChannel(with: device.curve25519, &turn) else { return nil }
        var recipientKeys = JSONWriter()
        recipientKeys.add("ed25519", device.ed25519.base64)
        var keys = JSONWriter()
        keys.add("ed25519", account.ed25519.publicKey.base64)
        var payload = JSONWriter()
        payload.add("type", type)
        payload.add("content", content)
        payload.add("sender", me.user)
        payload.add("recipient", device.userID)
        payload.add("recipient_keys", recipientKeys)
        payload.add("keys", keys)
        let own = try turn.records.value(DeviceRecord.self, scope: me.user, key: me.device)?.keys ?? deviceKeys
        payload.add("sender_device_keys", own.signedJSON)
        let message: OlmMessage
        do throws(EncryptionError) {
            message = try channel.session.encrypt(SecretBytes(payload.text.utf8), random: turn.random)
        } catch {
            // A single peer must not end a step for all others.
            turn.records.remove(.olmSession, scope: device.curve25519.base64, key: channel.session.id)
            return nil
        }
        turn.records.set(channel, scope: device.curve25519.base64, key: channel.session.id)
        turn.records.movesSendingRatchet = true

        var body = JSONWriter()
        body.add("type", json: "\(message.type)")
        body.add("body", message.body)
        var ciphertext = JSONWriter()
        ciphertext.add(device.curve25519.base64, body)
        var encrypted = JSONWriter()
        encrypted.add("algorithm", Algorithm.olm)
        encrypted.add("sender_key", account.curve25519.publicKey.base64)
        encrypted.add("ciphertext", ciphertext)
        return encrypted.view
    }

    func store(_ channel: OlmSessionRecord, with key: Curve25519PublicKey, _ turn: inout CryptoTurn)
        throws(EncryptionError)
    {
        turn.records.set(channel, scope: key.base64, key: channel.session.id)
        for old in try channels(with: key, &turn).dropFirst(Self.maximumChannels) {
            turn.records.remove(.olmSession, scope: key.base64, key: old.session.id)
        }
    }

    // MARK: Claims

    /// The devices that need a new channel, since the old one is out of step.
    private static let unwedging = "unwedge"

    mutating func keyClaim(_ turn: inout CryptoTurn) throws(EncryptionError) -> CryptoRequest? {
        guard !isInFlight("claim"), !isPaused("claim", turn) else { return nil }
        let wedged = try turn.records.values(SettingRecord.self, scope: Self.unwedging)
            .compactMap { DeviceAddress(key: $0.key) }
        let devices = wanted.union(wedged).sorted { $0.key < $1.key }.prefix(Self.devicesOfAClaim)
        guard !devices.isEmpty else { return nil }
        var users = JSONWriter()
        for (user, devices) in Dictionary(grouping: devices, by: \.user).sorted(by: { $0.key < $1.key }) {
            var object = JSONWriter()
            for device in devices { object.add(device.device, "signed_curve25519") }
            users.add(user, object)
        }
        var body = JSONWriter()
        body.add("one_time_keys", users)
        body.add("timeout", json: "10000")
        return request(.claimKeys(Array(devices)), body: body.text)
    }

    mutating func claimed(
        _ devices: [DeviceAddress], _ answer: JSONView, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        var seen: Set<Curve25519PublicKey> = []
        // Look through the answer once, rather than for each device.
        let given = Dictionary(
            (answer["one_time_keys"]?.members ?? []).flatMap { user, devices in
                devices.members.map { (DeviceAddress(user, $0.key), $0.value) }
            }, uniquingKeysWith: { $1 })
        for address in devices {
            wanted.remove(address)
            unclaimable[address] = turn.now
            guard let device: DeviceRecord = try turn.records.value(scope: address.user, key: address.device),
                let keys = given[address]?.members,
                let signed = keys.first(where: { $0.key.hasPrefix("signed_curve25519:") })?.value,
                let key = try? SignedOneTimeKey(signed, of: device.keys),
                key.isFallback || seen.insert(key.key).inserted,
                let session = try? account.outboundSession(
                    identityKey: device.keys.curve25519, oneTimeKey: key.key, random: turn.random)
            else { continue }
            unclaimable[address] = nil
            let owner = OlmSessionRecord.Owner(user: device.keys.userID, ed25519: device.keys.ed25519)
            try store(
                OlmSessionRecord(session: session, lastUsed: timeOfUse(turn), owner: owner),
                with: device.keys.curve25519,
                &turn)
            try unwedge(device, &turn)
        }
        for address in devices { turn.records.remove(.setting, scope: Self.unwedging, key: address.key) }
    }

    // MARK: Channels out of step

    /// Handles an unreadable message from the device: a new channel is created, at most once an hour.
    mutating func noteWedged(_ device: DeviceRecord, _ turn: inout CryptoTurn) {
        // A clock that was set back must not block this for ever.
        let isRecent = device.lastUnwedged <= turn.now && turn.now - device.lastUnwedged < Self.unwedgingInterval
        guard device.isUsable, device.lastUnwedged == 0 || !isRecent else { return }
        var device = device
        device.lastUnwedged = max(1, turn.now)
        turn.records.set(device, scope: device.keys.userID, key: device.keys.deviceID)
        turn.records.set(SettingRecord("yes"), scope: Self.unwedging, key: device.address.key)
    }

    private mutating func unwedge(_ device: DeviceRecord, _ turn: inout CryptoTurn) throws(EncryptionError) {
        let isWedged = try turn.records.value(SettingRecord.self, scope: Self.unwedging, key: device.address.key) != nil
        guard isWedged, let content = try encrypt("m.dummy", JSONWriter().view, for: device.keys, &turn) else { return }
        var device = device
        device.wedgingIndex += 1
        turn.records.set(device, scope: device.keys.userID, key: device.keys.deviceID)
        try post("m.room.encrypted", [(device.address, content)], shares: [], &turn)
        deviceEpoch += 1
    }

    // MARK: The outbox

    /// The maximum number of messages to devices in a request.
    private static let messagesOfARequest = 250

    /// Adds messages to devices to the outbox. They are sent with the same bytes until the server has answered.
    ///
    /// - Parameter shares: The sessions given with them: their ids and the devices.
    mutating func post(
        _ type: String, _ messages: [(to: DeviceAddress, content: JSONView)],
        shares: [(sessionId: String, device: DeviceAddress)], _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        for start in stride(from: 0, to: messages.count, by: Self.messagesOfARequest) {
            let batch = messages[start..<min(start + Self.messagesOfARequest, messages.count)]
            let shares = shares.map { OutboxRecord.Share(sessionId: $0.sessionId, device: $0.device) }
            try post(OutboxRecord(type, batch, among: shares, turn.random), &turn)
        }
    }

    /// Splits a request that is too large for the server. Each half is sent separately, in the same place of the
    /// outbox.
    ///
    /// - Returns: False if it cannot be split.
    mutating func halve(_ request: CryptoRequest, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        guard let key = request.outboxKey, let item: OutboxRecord = try turn.records.value(key: key),
            !item.type.isEmpty,
            let body = JSONView(Array(item.body.utf8))
        else { return false }
        let messages = (body["messages"]?.members ?? []).flatMap { user, devices in
            devices.members.map { (to: DeviceAddress(user, $0.key), content: $0.value) }
        }
        guard messages.count > 1 else { return false }
        turn.records.remove(.outbox, key: key)
        for (number, half) in [messages[..<(messages.count / 2)], messages[(messages.count / 2)...]].enumerated() {
            turn.records.set(
                OutboxRecord(item.type, half, among: item.shares, turn.random), key: key + "\(number)")
        }
        return true
    }

    func post(_ item: OutboxRecord, _ turn: inout CryptoTurn) throws(EncryptionError) {
        let last = try turn.records.value(SettingRecord.self, scope: "outbox", key: "last").flatMap {
            UInt64($0.text)
        }
        let number = (last ?? 0) + 1
        turn.records.set(SettingRecord("\(number)"), scope: "outbox", key: "last")
        turn.records.set(item, key: Self.outboxKey(number))
    }

    /// Sorted as text, they keep their order.
    static func outboxKey(_ number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 20 - digits.count)) + digits
    }

    mutating func outbox(_ turn: inout CryptoTurn) throws(EncryptionError) -> [CryptoRequest] {
        let sent = Set(inFlight.values.compactMap(\.outboxKey))
        let items = try turn.records.values(OutboxRecord.self)
        // Verification messages are sent one at a time, since their order matters.
        let waiting = Set(items.filter { VerificationEventType.isOrdered($0.value.type) }.dropFirst().map(\.key))
        return items.filter { key, item in
            !sent.contains(key) && !waiting.contains(key) && !isPaused(item.call.kind, turn)
        }.map { key, item in request(item.call, body: item.body, outboxKey: key) }
    }

    mutating func delivered(_ request: CryptoRequest, _ turn: inout CryptoTurn) throws(EncryptionError) {
        try take(request, as: .given, &turn)
    }

    /// Handles a request that the server will never accept. Its sessions are given again before the next message.
    mutating func refused(_ request: CryptoRequest, _ turn: inout CryptoTurn) throws(EncryptionError) {
        try take(request, as: .refused, &turn)
    }

    private mutating func take(
        _ request: CryptoRequest, as outcome: ShareRecord.Outcome, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let key = request.outboxKey, let item: OutboxRecord = try turn.records.value(key: key) else { return }
        turn.records.remove(.outbox, key: key)
        if outcome == .refused { deviceEpoch += 1 }  // a device lacks what all were thought to have
        for share in item.shares {
            guard let record: ShareRecord = try turn.records.value(scope: share.sessionId, key: share.device.key),
                record.outcome == .sending
            else { continue }
            turn.records.set(record.with(outcome, at: turn.now), scope: share.sessionId, key: share.device.key)
        }
    }
}

/// The names of encryption algorithms.
package enum Algorithm {
    package static let olm = "m.olm.v1.curve25519-aes-sha2"
    package static let megolm = "m.megolm.v1.aes-sha2"
}

/// A pending request with messages to devices, or with signatures.
struct OutboxRecord: Record, Equatable {
    static let kind = RecordKind.outbox
    private static let version: UInt8 = 1

    struct Share: Sendable, Equatable {
        let sessionId: String
        let device: DeviceAddress
    }

    /// The type of the messages; empty for signatures.
    let type: String
    /// Retries with the same id are delivered once.
    let transactionId: String
    let body: String
    /// The sessions given with it.
    let shares: [Share]

    init(type: String, transactionId: String, body: String, shares: [Share]) {
        (self.type, self.transactionId, self.body, self.shares) = (type, transactionId, body, shares)
    }

    /// - Parameter shares: The sessions given with it. Those of other devices are omitted.
    init(
        _ type: String, _ messages: ArraySlice<(to: DeviceAddress, content: JSONView)>, among shares: [Share],
        _ random: RandomSource
    ) {
        var users = JSONWriter()
        for (user, messages) in Dictionary(grouping: messages, by: \.to.user).sorted(by: { $0.key < $1.key }) {
            var devices = JSONWriter()
            for message in messages { devices.add(message.to.device, message.content) }
            users.add(user, devices)
        }
        var body = JSONWriter()
        body.add("messages", users)
        let receivers = Set(messages.map(\.to))
        self.init(
            type: type, transactionId: random.text(32), body: body.text,
            shares: shares.filter { receivers.contains($0.device) })
    }

    var call: CryptoRequest.Call {
        type.isEmpty ? .uploadSignatures : .sendToDevice(type: type, transactionId: transactionId)
    }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        for text in [type, transactionId, body] { writer.append(text) }
        writer.append(shares) { writer, share in
            for text in [share.sessionId, share.device.user, share.device.device] { writer.append(text) }
        }
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        (type, transactionId, body) = (try reader.text(), try reader.text(), try reader.text())
        shares = try reader.list { reader throws(EncryptionError) in
            Share(sessionId: try reader.text(), device: DeviceAddress(try reader.text(), try reader.text()))
        }
        try reader.end()
    }
}
