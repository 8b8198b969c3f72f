import JSONBytes
package import MatrixEncryption

/// Why an event that was encrypted cannot be read, or is not believed.
@nonexhaustive
public enum MXDecryptionError: Error, Sendable, Hashable {
    /// Its key is not here. It may come.
    case unknownSession
    /// The sender has not given the key to this device: the code of `m.room_key.withheld`, such as `m.unverified`.
    case withheld(code: String)
    /// The key that is here opens later messages only. One for earlier ones may come.
    case tooEarly
    /// Another event was the same message.
    case replay
    /// It was encrypted by somebody else than the server names as its sender.
    case senderMismatch
    /// It was encrypted for another room.
    case wrongRoom
    /// Inside was what must not be there: state, or something encrypted again.
    case forbiddenContent
    /// It is encrypted in a way that this library does not know.
    case unknownAlgorithm
    /// It is not what it should be.
    case damaged

    /// Whether a key that comes later can help.
    public var maySucceedLater: Bool {
        switch self {
        case .unknownSession, .withheld, .tooEarly: true
        case .replay, .senderMismatch, .wrongRoom, .forbiddenContent, .unknownAlgorithm, .damaged: false
        }
    }
}

extension MXDecryptionError: CustomStringConvertible {
    /// In words.
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

    /// As a store keeps it.
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

    /// - Returns: Nil if the record is no failure's.
    init?(record: JSONView) {
        guard let name = record["failure"]?.string else { return nil }
        if name == "withheld" {
            self = .withheld(code: record["code"]?.string ?? "")
        } else {
            self = Self.names.first { $0.0 == name }?.1 ?? .damaged
        }
    }
}
