import MatrixEncryption

/// A device of a user that takes part in encryption.
public struct MXDeviceInfo: Sendable, Hashable {
    /// The device's owner.
    public let userId: String
    /// The id chosen at login.
    public let deviceId: String
    /// The name given by its owner, or the server. It is not signed, so it may be false.
    public let displayName: String?
    /// The key by which other devices reach it.
    public let identityKey: String
    /// The key that vouches for it, for people to compare.
    public let fingerprint: String
    /// The user's decision or conclusion about the device.
    public let verification: MXDeviceVerification
    /// Whether its owner's identity vouches for it.
    public let isCrossSigned: Bool
    /// Whether the homeserver has reported other keys for it since it was first seen: an alarm. Those keys are not
    /// used; messages to it are encrypted with the first ones.
    public let hasRefusedKeys: Bool

    init(_ record: DeviceRecord, _ trust: DeviceTrust) {
        (userId, deviceId) = (record.keys.userID, record.keys.deviceID)
        displayName = record.keys.displayName
        (identityKey, fingerprint) = (record.keys.curve25519.base64, record.keys.ed25519.base64)
        (isCrossSigned, hasRefusedKeys) = (trust.isCrossSigned, record.isSuspicious)
        verification = trust.isBlocked ? .blocked : trust.isVerified ? .verified : .unverified
    }
}

/// A user's decision or conclusion about a device.
public enum MXDeviceVerification: Sendable, Hashable, CaseIterable {
    /// Nothing known to the user vouches for the device.
    case unverified
    /// The device was compared by hand, or its verified owner vouches for it.
    case verified
    /// The device gets no keys.
    case blocked

    var trust: DeviceRecord.LocalTrust {
        switch self {
        case .unverified: .unset
        case .verified: .verified
        case .blocked: .blocked
        }
    }
}

/// How far a device is trusted.
public struct MXDeviceTrustLevel: Sendable, Hashable {
    /// The user's decision or conclusion about the device.
    public let localVerificationStatus: MXDeviceVerification
    /// Whether its owner's identity vouches for it.
    public let isCrossSigned: Bool

    init(_ device: MXDeviceInfo) {
        (localVerificationStatus, isCrossSigned) = (device.verification, device.isCrossSigned)
    }

    /// Whether the device is verified.
    public var isVerified: Bool { localVerificationStatus == .verified }
}

/// The numbers of verified users and devices among several users.
public struct MXUsersTrustLevelSummary: Sendable, Hashable {
    /// The number of users.
    public internal(set) var users = 0
    /// The number of verified users.
    public internal(set) var trustedUsers = 0
    /// The number of their devices.
    public internal(set) var devices = 0
    /// The number of verified devices.
    public internal(set) var trustedDevices = 0
}

/// The knowledge of a user's identity.
public struct MXUserTrustLevel: Sendable, Hashable {
    /// Whether the user has cross-signing keys.
    public let hasIdentity: Bool
    /// Whether this user has verified them, with an identity that is trusted here.
    public let isVerified: Bool
    /// Whether they differ from those first seen, or accepted.
    public let hasChanged: Bool
    /// Whether the former keys were verified: then nothing is sent until the change is acknowledged.
    public let wasVerified: Bool
}

/// The mark to show next to a message of an encrypted room.
@nonexhaustive
public enum MXMessageShield: Sendable, Hashable, CaseIterable {
    /// No mark.
    case none
    /// A hint: the device is its owner's, but the owner is not verified.
    case unverifiedIdentity
    /// A warning: nothing vouches for the device.
    case unsignedDevice
    /// A warning: the sender was verified, but now has another identity.
    case identityChanged
    /// A warning: the device is unknown.
    case unknownDevice
    /// A hint: the key arrived in a way that proves nothing about the sender.
    case authenticityNotGuaranteed
    /// A warning: the message was not encrypted.
    case sentInClear

    init(_ shield: MessageShield) {
        self =
            switch shield {
            case .none: .none
            case .unverifiedIdentity: .unverifiedIdentity
            case .unsignedDevice: .unsignedDevice
            case .identityChanged: .identityChanged
            case .unknownDevice: .unknownDevice
            case .authenticityNotGuaranteed: .authenticityNotGuaranteed
            case .sentInClear: .sentInClear
            }
    }
}
