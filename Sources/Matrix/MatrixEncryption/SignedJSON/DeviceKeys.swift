import Basics
package import JSONBytes

/// The public keys of a device, signed by it, as sent by its server or by the device itself.
package struct DeviceKeys: Sendable, Equatable {
    package let userID: String
    package let deviceID: String
    /// The fingerprint key, which signs.
    package let ed25519: Ed25519PublicKey
    /// The identity key, which opens sessions.
    package let curve25519: Curve25519PublicKey
    package let algorithms: [String]
    /// The name on the server. It is not signed and not trustworthy.
    package let displayName: String?
    /// Whether this is a dehydrated device, which only keeps keys for the user's next device.
    package let isDehydrated: Bool
    /// The whole object, including unknown members and all signatures.
    package let json: JSONView

    /// - Parameters:
    ///   - user: The expected owner.
    ///   - device: The expected id; `nil` if only the object contains it.
    /// - Throws: `ids` if it is not that device's; `keys` if it does not have both keys of 32 bytes, or is also a
    ///   cross-signing key; the errors of ``SignedJSON`` if the device's own signature is missing or wrong.
    package init(_ json: JSONView, user: String, device: String? = nil) throws(EncryptionError) {
        try self.init(stored: json, user: user, device: device)
        try SignedJSON.verify(json, with: ed25519, user: userID, keyID: "ed25519:" + deviceID)
    }

    /// Reads stored keys, whose own signature was verified on arrival.
    init(stored json: JSONView, user: String, device: String? = nil) throws(EncryptionError) {
        guard let userID = json["user_id"]?.string, userID.isExactly(user),
            let deviceID = json["device_id"]?.string, !deviceID.isEmpty, deviceID.isExactly(device ?? deviceID)
        else { throw .ids }
        guard json["usage"] == nil,
            let ed25519 = json["keys"]?["ed25519:" + deviceID]?.string.flatMap({ try? Ed25519PublicKey(base64: $0) }),
            let curve25519 = json["keys"]?["curve25519:" + deviceID]?.string
                .flatMap({ try? Curve25519PublicKey(base64: $0) })
        else { throw .keys }
        self.userID = userID
        self.deviceID = deviceID
        self.ed25519 = ed25519
        self.curve25519 = curve25519
        algorithms = json["algorithms"]?.array?.compactMap(\.string) ?? []
        displayName = json["unsigned"]?["device_display_name"]?.string
        isDehydrated = json["dehydrated"]?.bool ?? false
        self.json = json.detached
    }

    /// Creates the keys of a device of our own, signed by it.
    package init(
        userID: String, deviceID: String, identityKey: Curve25519PublicKey, fingerprint: Ed25519KeyPair
    ) throws(EncryptionError) {
        var keys = JSONWriter()
        keys.add("curve25519:" + deviceID, identityKey.base64)
        keys.add("ed25519:" + deviceID, fingerprint.publicKey.base64)
        var object = JSONWriter()
        object.add("user_id", userID)
        object.add("device_id", deviceID)
        object.add("algorithms", json: #"["m.olm.v1.curve25519-aes-sha2","m.megolm.v1.aes-sha2"]"#)
        object.add("keys", keys)
        let json = try SignedJSON.sign(object.view, with: fingerprint, user: userID, keyID: "ed25519:" + deviceID)
        try self.init(json, user: userID, device: deviceID)
    }

    /// The signed part and the signatures, without the server's additions.
    package var signedJSON: JSONView {
        var object = JSONWriter()
        for (key, value) in json.members where !key.isExactly("unsigned") { object.add(key, value) }
        return object.view
    }

    /// Checks that the owner's self-signing key has signed the device.
    ///
    /// - Parameter key: The self-signing key, already verified with its master key.
    /// - Throws: `ids` for a key of another user or usage, and the errors of ``SignedJSON/verify(_:with:user:keyID:)``.
    package func verifySignature(by key: CrossSigningKey) throws(EncryptionError) {
        guard key.usage == .selfSigning, key.userID.isExactly(userID) else { throw .ids }
        try SignedJSON.verify(json, with: key.publicKey, user: userID, keyID: key.id)
    }
}
