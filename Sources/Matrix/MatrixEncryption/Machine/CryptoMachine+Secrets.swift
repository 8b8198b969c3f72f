import Basics
import JSONBytes

/// Secrets that a user's devices share with each other (Documentation/Rules/encryption.md, "Secrets").
extension CryptoMachine {
    /// Returns a secret that is available and matches the published key; otherwise `nil`.
    func usableSecret(_ name: SecretName, _ turn: inout CryptoTurn) throws(EncryptionError) -> SecretBytes? {
        if let usage = name.usage { return try privateKey(usage, &turn)?.seed }
        return try backupKey(&turn)?.privateKey
    }

    private func isMissing(_ name: SecretName, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        guard try usableSecret(name, &turn) == nil else { return false }
        guard let usage = name.usage else { return try backupVersion(&turn)?.authData != nil }
        return try turn.records.value(IdentityRecord.self, key: me.user)?.key(usage) != nil
    }

    // MARK: Asking

    /// Requests the missing secrets from our verified devices, as soon as there are any. Trusting our own identity does
    /// so automatically.
    ///
    /// - Parameters:
    ///   - again: Whether to repeat requests that were already sent.
    ///   - devices: The devices to ask; `nil` for all, including those verified later.
    /// - Throws: `unknownDevice` if one of these is not verified.
    package mutating func requestMissingSecrets(
        again: Bool = false, of devices: [String]? = nil, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        var others: [String] = []
        if let devices {
            let verified = try otherDevices(&turn).verified.map(\.keys.deviceID)
            func isNamed(_ id: String) -> Bool { devices.contains { $0.isExactly(id) } }
            guard devices.allSatisfy({ id in verified.contains { $0.isExactly(id) } }) else { throw .unknownDevice }
            others = verified.filter { !isNamed($0) }
        }
        for name in SecretName.allCases where try isMissing(name, &turn) {
            if again { try closeSecretRequest(name, &turn) }
            try requestSecret(name, notOf: others, &turn)
        }
    }

    /// Requests a secret, unless a request is pending.
    ///
    /// - Parameter others: Devices to skip, as if they had been asked.
    mutating func requestSecret(
        _ name: SecretName, notOf others: [String] = [], _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard try turn.records.value(SecretRequestRecord.self, key: name.rawValue) == nil else { return }
        turn.records.set(SecretRequestRecord(id: turn.random.text(32), devices: others), key: name.rawValue)
        traffic.secretEpoch = nil
    }

    /// Sends pending requests once to each verified device.
    mutating func askForSecrets(_ turn: inout CryptoTurn) throws(EncryptionError) {
        guard traffic.secretEpoch != deviceEpoch else { return }
        traffic.secretEpoch = deviceEpoch
        let requests = try turn.records.values(SecretRequestRecord.self)
        guard !requests.isEmpty else { return }
        let verified = try otherDevices(&turn).verified
        for (name, var request) in requests {
            let devices = verified.filter { device in
                !request.devices.contains { $0.isExactly(device.keys.deviceID) }
            }
            guard !devices.isEmpty else { continue }
            var content = JSONWriter()
            content.add("name", name)
            content.add("action", "request")
            content.add("requesting_device_id", me.device)
            content.add("request_id", request.id)
            try post("m.secret.request", devices.map { ($0.address, content.view) }, shares: [], &turn)
            request.devices += devices.map(\.keys.deviceID)
            turn.records.set(request, key: name)
        }
    }

    /// Removes the request for a secret that has arrived, and cancels it at other devices.
    mutating func closeSecretRequest(_ name: SecretName, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let request: SecretRequestRecord = try turn.records.value(key: name.rawValue) else { return }
        turn.records.remove(.secretRequest, key: name.rawValue)
        try cancel("m.secret.request", request.id, at: request.devices, &turn)
    }

    // MARK: Received secrets

    /// Stores a requested secret if it is the private half of the published key.
    mutating func receive(
        secret content: JSONView, from sender: Sender, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard try isVerifiedOwn(sender.device, &turn) else { throw .untrusted }
        guard let id = content["request_id"]?.string, let text = content["secret"]?.string else {
            throw .missingField
        }
        let device = sender.device.keys.deviceID
        for (key, request) in try turn.records.values(SecretRequestRecord.self)
        where request.id.isExactly(id) && request.devices.contains(where: { $0.isExactly(device) }) {
            guard let name = SecretName(rawValue: key) else { continue }
            try take(UnpaddedBase64.decodeSecret(text), as: name, &turn)
            turn.notices.append(.secretReceived(name))
            return
        }
        throw .unasked
    }
}
