package import MatrixSDK

/// The text shown beside a message of an encrypted room.
extension MXMessageShield {
    /// The name in JSON.
    package var name: String {
        switch self {
        case .none: "none"
        case .unverifiedIdentity: "unverified_identity"
        case .unsignedDevice: "unsigned_device"
        case .identityChanged: "identity_changed"
        case .unknownDevice: "unknown_device"
        case .authenticityNotGuaranteed: "authenticity_not_guaranteed"
        case .sentInClear: "sent_in_clear"
        @unknown default: "unknown_device"
        }
    }

    package init?(name: String) {
        guard let shield = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = shield
    }

    /// The text shown after the message. An unverified sender is the common case and not mentioned.
    package var mark: String {
        switch self {
        case .none, .unverifiedIdentity: ""
        case .unsignedDevice: " (warning: sent from a device that its owner has not signed)"
        case .identityChanged: " (warning: the sender was verified, and has other keys now)"
        case .unknownDevice: " (warning: sent from an unknown device)"
        case .authenticityNotGuaranteed: " (nothing proves who sent this)"
        case .sentInClear: " (warning: not encrypted)"
        @unknown default: " (warning: sent from an unknown device)"
        }
    }
}

/// An event with its decrypted content and its shield.
package struct ReadEvent: Sendable {
    package let event: MXEvent
    package let shield: MXMessageShield

    package init(event: MXEvent, shield: MXMessageShield = .none) {
        (self.event, self.shield) = (event, shield)
    }
}
