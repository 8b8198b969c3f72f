import Basics
package import JSONBytes

/// What a cross-signing key signs.
package enum CrossSigningUsage: String, Sendable, CaseIterable {
    /// The user's other two keys.
    case master
    /// The user's own devices.
    case selfSigning = "self_signing"
    /// Other users' master keys. Nobody else sees this key.
    case userSigning = "user_signing"
}

/// A user's key that vouches for other keys.
package struct CrossSigningKey: Sendable, Equatable {
    package let userID: String
    package let usage: CrossSigningUsage
    package let publicKey: Ed25519PublicKey
    /// The whole object, with members that we don't know and all signatures.
    package let json: JSONView

    /// The key id of its signatures.
    package var id: String { "ed25519:" + publicKey.base64 }

    /// Reads a key. Whether anybody vouches for it is another matter: see ``verifySignature(by:)``.
    ///
    /// - Throws: `ids` unless it is that user's, or if it claims to be a device; `keys` unless it has that usage alone and one
    ///   key, whose id is the key.
    package init(_ json: JSONView, user: String, usage: CrossSigningUsage) throws(EncryptionError) {
        guard let userID = json["user_id"]?.string, userID.isExactly(user), json["device_id"] == nil else {
            throw .ids
        }
        let prefix = "ed25519:"
        guard let usages = json["usage"]?.array, usages.count == 1, usages[0].string?.isExactly(usage.rawValue) == true,
            let keys = json["keys"]?.canonicalMembers, keys.count == 1, keys[0].key.utf8.starts(with: prefix.utf8),
            let publicKey = keys[0].value.string.flatMap({ try? Ed25519PublicKey(base64: $0) }),
            (try? Ed25519PublicKey(base64: String(keys[0].key.dropFirst(prefix.count)))) == publicKey
        else { throw .keys }
        self.userID = userID
        self.usage = usage
        self.publicKey = publicKey
        self.json = json.detached
    }

    /// A key of our own.
    ///
    /// - Parameter master: Signs it; nil for the master key itself.
    package init(
        userID: String, usage: CrossSigningUsage, publicKey: Ed25519PublicKey, signedBy master: Ed25519KeyPair?
    ) throws(EncryptionError) {
        var keys = JSONWriter()
        keys.add("ed25519:" + publicKey.base64, publicKey.base64)
        var object = JSONWriter()
        object.add("user_id", userID)
        object.add("usage", json: "[\"\(usage.rawValue)\"]")
        object.add("keys", keys)
        var json = object.view
        if let master {
            json = try SignedJSON.sign(
                json, with: master, user: userID, keyID: "ed25519:" + master.publicKey.base64)
        }
        try self.init(json, user: userID, usage: usage)
    }

    /// Checks that another key vouches for this one: a user's master key for his other two, our user-signing key for the
    /// master key of another user.
    ///
    /// - Parameter key: One that the caller trusts.
    /// - Throws: `ids` if keys of these usages and users don't sign each other, and what
    ///   ``SignedJSON/verify(_:with:user:keyID:)`` throws.
    package func verifySignature(by key: CrossSigningKey) throws(EncryptionError) {
        let isOwn = key.userID.isExactly(userID)
        let isPossible =
            switch (key.usage, usage) {
            case (.master, .selfSigning), (.master, .userSigning): isOwn
            case (.userSigning, .master): !isOwn
            case (.master, .master), (.selfSigning, _), (.userSigning, .selfSigning), (.userSigning, .userSigning):
                false
            }
        guard isPossible else { throw .ids }
        try SignedJSON.verify(json, with: key.publicKey, user: key.userID, keyID: key.id)
    }
}
