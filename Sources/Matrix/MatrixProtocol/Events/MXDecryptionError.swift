import JSONBytes
package import MatrixEncryption

/// The reason why an encrypted event cannot be read or is not trusted.
@nonexhaustive
public enum MXDecryptionError: Error, Sendable, Hashable {
    /// The key is missing. It may arrive later.
    case unknownSession
    /// The sender withheld the key from this device. The code is that of `m.room_key.withheld`, such as `m.unverified`.
    case withheld(code: String)
    /// The available key decrypts only later messages. A key for earlier ones may still arrive.
    case tooEarly
    /// The message was already used for another event.
    case replay
    /// The event was encrypted by someone other than the sender that the server names.
    case senderMismatch
    /// The event was encrypted for another room.
    case wrongRoom
    /// The decrypted event is not allowed: it is state, or encrypted again.
    case forbiddenContent
    /// This library does not support the encryption algorithm.
    case unknownAlgorithm
    /// The event is malformed.
    case damaged

    /// Whether a later key can help.
    public var maySucceedLater: Bool {
        switch self {
        case .unknownSession, .withheld, .tooEarly: true
        case .replay, .senderMismatch, .wrongRoom, .forbiddenContent, .unknownAlgorithm, .damaged: false
        }
    }
}

extension MXDecryptionError: CustomStringConvertible {
    /// A description in words.
    public var description: String {
        switch self {
        case .unknownSession: "its key is not here yet"
        case .withheld(let code):
            switch code {
            case "m.blacklisted": "the sender has blocked this device"
            case "m.unverified": "the sender gives keys to verified devices only, and this one is not verified"
            case "m.history_not_shared": "it was sent before this device could read the room"
            case "m.no_olm": "the sender could not reach this device with the key"
            default: "the sender has not given its key to this device"
            }
        case .tooEarly: "it was sent before this device was given the key"
        case .replay: "it repeats another message"
        case .senderMismatch: "it is not from the user whom the server names"
        case .wrongRoom: "it was written for another room"
        case .forbiddenContent: "it holds what must not be encrypted"
        case .unknownAlgorithm: "it is encrypted in an unknown way"
        case .damaged: "it is damaged"
        }
    }
}

extension MXDecryptionError {
    package init(_ failure: DecryptionFailure) {
        self =
            switch failure {
            case .unknownSession: .unknownSession
            case .withheld(let code): .withheld(code: code)
            case .tooEarly: .tooEarly
            case .replay: .replay
            case .senderMismatch: .senderMismatch
            case .wrongRoom: .wrongRoom
            case .forbiddenContent: .forbiddenContent
            case .unknownAlgorithm: .unknownAlgorithm
            case .damaged: .damaged
            }
    }

    private static let names: [(String, MXDecryptionError)] = [
        ("unknown_session", .unknownSession), ("too_early", .tooEarly), ("replay", .replay),
        ("sender_mismatch", .senderMismatch), ("wrong_room", .wrongRoom), ("forbidden_content", .forbiddenContent),
        ("unknown_algorithm", .unknownAlgorithm), ("damaged", .damaged),
    ]

    /// The error's form in the store.
    var record: JSONView {
        var object = JSONWriter()
        if case .withheld(let code) = self {
            object.add("failure", "withheld")
            object.add("code", code)
        } else {
            object.add("failure", Self.names.first { $0.1 == self }?.0 ?? "damaged")
        }
        return object.view
    }

    /// - Returns: `nil` if the record does not describe a failure.
    init?(record: JSONView) {
        guard let name = record["failure"]?.string else { return nil }
        if name == "withheld" {
            self = .withheld(code: record["code"]?.string ?? "")
        } else {
            self = Self.names.first { $0.0 == name }?.1 ?? .damaged
        }
    }
}
