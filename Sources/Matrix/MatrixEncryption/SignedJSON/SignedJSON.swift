import Basics
package import JSONBytes

/// JSON objects that contain their own signatures: `{"signatures": {user: {"ed25519:ID": signature}}, …}`.
///
/// Everything except `signatures` and `unsigned` is signed, including unknown members.
package enum SignedJSON {
    /// Returns the object with an additional signature.
    ///
    /// - Parameters:
    ///   - user: The signing user.
    ///   - keyID: `ed25519:` and a device id or the public key of a cross-signing key.
    ///   - keepsOthers: Whether to keep existing signatures. `/keys/signatures/upload` accepts only the new one.
    /// - Throws: The errors of ``CanonicalJSON``.
    package static func sign(
        _ object: JSONView, with pair: Ed25519KeyPair, user: String, keyID: String, keepsOthers: Bool = true
    ) throws(EncryptionError) -> JSONView {
        let signature = UnpaddedBase64.encode(pair.signature(of: try signedPart(of: object)))
        let others = keepsOthers ? object["signatures"]?.canonicalMembers ?? [] : []

        var ofUser = JSONWriter()
        for (id, other) in others.first(where: { $0.key.isExactly(user) })?.value.canonicalMembers ?? []
        where !id.isExactly(keyID) {
            ofUser.add(id, other)
        }
        ofUser.add(keyID, signature)

        var signatures = JSONWriter()
        for (other, value) in others where !other.isExactly(user) { signatures.add(other, value) }
        signatures.add(user, ofUser)

        var signed = JSONWriter()
        for (key, value) in object.members where !key.isExactly("signatures") { signed.add(key, value) }
        signed.add("signatures", signatures)
        return signed.view
    }

    /// Checks one signature and ignores the others.
    ///
    /// - Parameter key: A key from the caller's own trusted records, never from the object.
    /// - Throws: `noSignature` if it is missing or not text, `base64`, `signature`, and the errors of
    ///   ``CanonicalJSON``.
    package static func verify(
        _ object: JSONView, with key: Ed25519PublicKey, user: String, keyID: String
    ) throws(EncryptionError) {
        guard let text = object["signatures"]?[user]?[keyID]?.string else { throw .noSignature }
        let signature = try UnpaddedBase64.decode(text)
        try key.verify(signature, of: signedPart(of: object))
    }

    private static func signedPart(of object: JSONView) throws(EncryptionError) -> [UInt8] {
        guard object.isObject else { throw .notJSON }
        return try CanonicalJSON.bytes(of: object, without: "signatures", "unsigned")
    }
}
