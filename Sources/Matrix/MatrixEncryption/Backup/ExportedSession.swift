import Basics
import JSONBytes

/// A room key as it stands in backups and in export files.
///
/// All but the key is what somebody claims.
package struct ExportedSession: Sendable, Equatable {
    package static let algorithm = "m.megolm.v1.aes-sha2"

    package let roomID: String
    /// The Curve25519 key of the device that made it.
    package let senderKey: Curve25519PublicKey
    /// The Ed25519 key of that device.
    package let senderClaimedKey: Ed25519PublicKey?
    /// The Curve25519 keys of the devices that passed it on.
    package let forwardingChain: [Curve25519PublicKey]
    /// 165 bytes, in export format.
    package let sessionKey: SecretBytes
    /// Whether new members may get it.
    package let isSharedHistory: Bool

    /// What is inside of the key.
    package var sessionID: String { Self.sessionID(of: sessionKey) }

    /// - Parameter sessionKey: In export format.
    /// - Throws: `sessionKey` if it isn't.
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
    ///   - roomID: In a backup, the key that it lay under; nil if only the object tells it.
    ///   - sessionID: Likewise.
    /// - Throws: `notJSON`, `missingField`, `base64`, `keyLength`; `algorithm` for one to skip; `sessionKey`; `ids` if it
    ///   isn't the session that it is said to be.
    package init(
        _ json: SecretBytes, roomID: String? = nil, sessionID: String? = nil
    ) throws(EncryptionError) {
        let bytes = json.withUnsafeBytes { Array($0) }
        // Damaged backups decrypt to anything.
        guard JSONView.isJSON(bytes), let view = JSONView(bytes) else { throw .notJSON }
        try self.init(view, roomID: roomID, sessionID: sessionID)
    }

    /// - Parameter json: Well-formed.
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

    /// For a backup, where room and session are the keys that the object lies under.
    package var backupJSON: SecretBytes { SecretBytes(writer.text.utf8) }

    /// For a file, which says them inside.
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

    /// The public half of the key that signs the session's messages, which an exported key ends with.
    private static func sessionID(of key: SecretBytes) -> String { UnpaddedBase64.encode(key[133..<165]) }
}
