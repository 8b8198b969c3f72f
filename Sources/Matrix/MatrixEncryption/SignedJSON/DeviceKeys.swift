import Basics
package import JSONBytes

/// The public keys of a device, as its server hands them out or the device itself sends them, signed by the device.
package struct DeviceKeys: Sendable, Equatable {
    package let userID: String
    package let deviceID: String
    /// The fingerprint key, which signs.
    package let ed25519: Ed25519PublicKey
    /// The identity key, which opens sessions.
    package let curve25519: Curve25519PublicKey
    package let algorithms: [String]
    /// What the server calls it. Not signed: it may be a lie.
    package let displayName: String?
    /// Whether nobody sits in front of it: it only keeps keys for the user's next device.
    package let isDehydrated: Bool
    /// The whole object, with members that we don't know and all signatures.
    package let json: JSONView

    /// - Parameters:
    ///   - user: Whose device it must be.
    ///   - device: The id that it must have; nil if only the object tells it.
    /// - Throws: `ids` unless it is that device's; `keys` unless it has both keys, of 32 bytes, and isn't a cross-signing key
    ///   at the same time; what ``SignedJSON`` throws if the device's own signature is missing or wrong.
    package init(_ json: JSONView, user: String, device: String? = nil) throws(EncryptionError) {
        try self.init(stored: json, user: user, device: device)
        try SignedJSON.verify(json, with: ed25519, user: userID, keyID: "ed25519:" + deviceID)
    }

    /// Keys whose own signature was checked when they came.
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

    /// The keys of a device of our own, signed by it.
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

    /// What is signed, and the signatures: without what a server says besides.
    package var signedJSON: JSONView {
        var object = JSONWriter()
        for (key, value) in json.members where !key.isExactly("unsigned") { object.add(key, value) }
        return object.view
    }

    /// Checks that the owner's self-signing key vouches for the device.
    ///
    /// - Parameter key: Checked by its master key.
    /// - Throws: `ids` for a key of another user or another usage, and what ``SignedJSON/verify(_:with:user:keyID:)`` throws.
    package func verifySignature(by key: CrossSigningKey) throws(EncryptionError) {
        guard key.usage == .selfSigning, key.userID.isExactly(userID) else { throw .ids }
        try SignedJSON.verify(json, with: key.publicKey, user: userID, keyID: key.id)
    }
}
