package import MatrixSDK

/// What is said beside a message of an encrypted room.
extension MXMessageShield {
    /// In JSON.
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

    /// For people: behind what the message says. That nobody has verified its sender goes for most messages, and is not said.
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

/// An event with what is inside, and what to say beside it.
package struct ReadEvent: Sendable {
    package let event: MXEvent
    package let shield: MXMessageShield

    package init(event: MXEvent, shield: MXMessageShield = .none) {
        (self.event, self.shield) = (event, shield)
    }
}
