import Basics
package import JSONBytes

/// The things that a cross-signing key signs.
package enum CrossSigningUsage: String, Sendable, CaseIterable {
    /// The user's other two keys.
    case master
    /// The user's own devices.
    case selfSigning = "self_signing"
    /// Other users' master keys. This key is visible only to its owner.
    case userSigning = "user_signing"
}

/// A user's key that signs other keys.
package struct CrossSigningKey: Sendable, Equatable {
    package let userID: String
    package let usage: CrossSigningUsage
    package let publicKey: Ed25519PublicKey
    /// The whole object, including unknown members and all signatures.
    package let json: JSONView

    /// The key id of its signatures.
    package var id: String { "ed25519:" + publicKey.base64 }

    /// Parses a key. Use ``verifySignature(by:)`` to check who has signed it.
    ///
    /// - Throws: `ids` if it is not that user's, or claims to be a device; `keys` if it does not have exactly that
    ///   usage and one key, whose id is the key.
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

    /// Creates a key of our own.
    ///
    /// - Parameter master: The key to sign with; `nil` for the master key itself.
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

    /// Checks that another key has signed this one: a user's master key for the user's other two, our user-signing key
    /// for the master key of another user.
    ///
    /// - Parameter key: A key that the caller trusts.
    /// - Throws: `ids` if keys of these usages and users don't sign each other, and the errors of
    ///   ``SignedJSON/verify(_:with:user:keyID:)``.
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
