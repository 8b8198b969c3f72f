package import JSONBytes

/// A key, signed by the device, with which to open one session; or a fallback key for when these have run out.
package struct SignedOneTimeKey: Sendable, Equatable {
    package let key: Curve25519PublicKey
    /// Whether others may receive the same key.
    package let isFallback: Bool
    package let json: JSONView

    /// - Parameter device: The device that it was claimed from, from the caller's records.
    /// - Throws: `keys` if it is not an object of this kind with a key of 32 bytes, and the errors of
    ///   ``SignedJSON/verify(_:with:user:keyID:)``.
    package init(_ json: JSONView, of device: DeviceKeys) throws(EncryptionError) {
        // The device also signs its device keys and master keys, which are not one-time keys.
        guard json["user_id"] == nil, json["device_id"] == nil, json["usage"] == nil,
            let key = json["key"]?.string.flatMap({ try? Curve25519PublicKey(base64: $0) })
        else { throw .keys }
        let fallback = json["fallback"]
        guard let isFallback = fallback == nil ? false : fallback?.bool else { throw .keys }
        try SignedJSON.verify(json, with: device.ed25519, user: device.userID, keyID: "ed25519:" + device.deviceID)
        self.key = key
        self.isFallback = isFallback
        self.json = json.detached
    }

    /// Returns the object of a key of our own, for `/keys/upload`.
    package static func json(
        _ key: Curve25519PublicKey, isFallback: Bool, userID: String, deviceID: String, fingerprint: Ed25519KeyPair
    ) throws(EncryptionError) -> JSONView {
        var object = JSONWriter()
        object.add("key", key.base64)
        if isFallback { object.add("fallback", json: "true") }
        return try SignedJSON.sign(object.view, with: fingerprint, user: userID, keyID: "ed25519:" + deviceID)
    }
}
