import Basics
import JSONBytes

/// A room key in the form used by backups and export files.
///
/// Everything except the key is an unverified claim.
package struct ExportedSession: Sendable, Equatable {
    package static let algorithm = "m.megolm.v1.aes-sha2"

    package let roomID: String
    /// The Curve25519 key of the device that created it.
    package let senderKey: Curve25519PublicKey
    /// The Ed25519 key of that device.
    package let senderClaimedKey: Ed25519PublicKey?
    /// The Curve25519 keys of the devices that forwarded it.
    package let forwardingChain: [Curve25519PublicKey]
    /// The key in export format, 165 bytes.
    package let sessionKey: SecretBytes
    /// Whether new members may receive it.
    package let isSharedHistory: Bool

    /// The session id contained in the key.
    package var sessionID: String { Self.sessionID(of: sessionKey) }

    /// - Parameter sessionKey: The key in export format.
    /// - Throws: `sessionKey` if the format is wrong.
    package init(
        roomID: String, senderKey: Curve25519PublicKey, senderClaimedKey: Ed25519PublicKey?,
        forwardingChain: [Curve25519PublicKey], sessionKey: SecretBytes, isSharedHistory: Bool
    ) throws(EncryptionError) {
        guard sessionKey.count == 165, sessionKey.withUnsafeBytes({ $0[0] }) == 1 else { throw .sessionKey }
        self.roomID = roomID
        self.senderKey = senderKey
        self.senderClaimedKey = senderClaimedKey
        self.forwardingChain = forwardingChain
        self.sessionKey = sessionKey
        self.isSharedHistory = isSharedHistory
    }

    /// - Parameters:
    ///   - json: A JSON object.
    ///   - roomID: In a backup, the key that the object is stored under; `nil` if only the object contains it.
    ///   - sessionID: Like `roomID`, for the session.
    /// - Throws: `notJSON`, `missingField`, `base64`, `keyLength`; `algorithm` if the session is to be skipped;
    ///   `sessionKey`; `ids` if the key belongs to another session.
    package init(
        _ json: SecretBytes, roomID: String? = nil, sessionID: String? = nil
    ) throws(EncryptionError) {
        let bytes = json.withUnsafeBytes { Array($0) }
        // A damaged backup can decrypt to anything.
        guard JSONView.isJSON(bytes), let view = JSONView(bytes) else { throw .notJSON }
        try self.init(view, roomID: roomID, sessionID: sessionID)
    }

    /// - Parameter json: Well-formed JSON.
    init(_ json: JSONView, roomID: String? = nil, sessionID: String? = nil) throws(EncryptionError) {
        guard json.isObject else { throw .notJSON }
        guard json["algorithm"]?.string?.isExactly(Self.algorithm) == true else { throw .algorithm }
        guard let room = json["room_id"]?.string ?? roomID, let senderKey = json["sender_key"]?.string,
            let sessionKey = json["session_key"]?.string
        else { throw .missingField }
        var chain: [Curve25519PublicKey] = []
        for key in json["forwarding_curve25519_key_chain"]?.array ?? [] {
            chain.append(try Curve25519PublicKey(base64: key.string ?? ""))
        }
        let claimedKey = json["sender_claimed_keys"]?["ed25519"]?.string
        try self.init(
            roomID: room, senderKey: Curve25519PublicKey(base64: senderKey),
            senderClaimedKey: claimedKey.map { text throws(EncryptionError) in try Ed25519PublicKey(base64: text) },
            forwardingChain: chain, sessionKey: UnpaddedBase64.decodeSecret(sessionKey),
            isSharedHistory: json["shared_history"]?.bool ?? false)
        let inside = [json["session_id"]?.string, sessionID].compactMap(\.self)
        guard room.isExactly(roomID ?? room), inside.allSatisfy({ $0.isExactly(self.sessionID) }) else { throw .ids }
    }

    /// The JSON for a backup, where room and session are the keys that the object is stored under.
    package var backupJSON: SecretBytes { SecretBytes(writer.text.utf8) }

    /// The JSON for a file, which contains room and session.
    var fileJSON: SecretBytes {
        var object = writer
        object.add("room_id", roomID)
        object.add("session_id", sessionID)
        return SecretBytes(object.text.utf8)
    }

    private var writer: JSONWriter {
        var claimedKeys = JSONWriter()
        if let senderClaimedKey { claimedKeys.add("ed25519", senderClaimedKey.base64) }
        let chain = forwardingChain.map { "\"\($0.base64)\"" }
        var object = JSONWriter()
        object.add("algorithm", Self.algorithm)
        object.add("sender_key", senderKey.base64)
        object.add("sender_claimed_keys", claimedKeys)
        object.add("forwarding_curve25519_key_chain", json: "[" + chain.joined(separator: ",") + "]")
        object.add("session_key", UnpaddedBase64.encode(sessionKey))
        if isSharedHistory { object.add("shared_history", json: "true") }
        return object
    }

    /// Returns the public half of the key that signs the session's messages. It is at the end of an exported key.
    private static func sessionID(of key: SecretBytes) -> String { UnpaddedBase64.encode(key[133..<165]) }
}
