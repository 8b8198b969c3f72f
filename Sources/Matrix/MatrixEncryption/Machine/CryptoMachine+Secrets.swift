import Basics
import JSONBytes

/// Secrets that devices of one user give each other (Documentation/Rules/encryption.md, "Secrets").
extension CryptoMachine {
    /// A secret that is here and goes with what is published; nil otherwise.
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

    /// Asks our verified devices for the secrets that are not here, as soon as there are such devices. Trusting our own
    /// identity does it by itself.
    ///
    /// - Parameters:
    ///   - again: Those that were asked already are asked again.
    ///   - devices: The only ones to ask. Nil is all, also those that are verified later.
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

    /// One that is asked for already is waited for.
    ///
    /// - Parameter others: Devices that are passed over, as if they had been asked.
    mutating func requestSecret(
        _ name: SecretName, notOf others: [String] = [], _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard try turn.records.value(SecretRequestRecord.self, key: name.rawValue) == nil else { return }
        turn.records.set(SecretRequestRecord(id: turn.random.text(32), devices: others), key: name.rawValue)
        traffic.secretEpoch = nil
    }

    /// Asks each verified device once.
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

    /// The secret is here: nobody needs to send it any more.
    mutating func closeSecretRequest(_ name: SecretName, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let request: SecretRequestRecord = try turn.records.value(key: name.rawValue) else { return }
        turn.records.remove(.secretRequest, key: name.rawValue)
        try cancel("m.secret.request", request.id, at: request.devices, &turn)
    }

    // MARK: Secrets that another device sends

    /// Takes a secret that was asked for, if it is the private half of what is published.
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
