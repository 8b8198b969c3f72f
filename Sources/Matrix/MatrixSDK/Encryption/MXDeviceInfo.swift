import MatrixEncryption

/// A device of a user that takes part in encryption.
public struct MXDeviceInfo: Sendable, Hashable {
    /// Whose it is.
    public let userId: String
    /// Chosen at its login.
    public let deviceId: String
    /// What its owner, or the server, calls it. Not signed: it may be a lie.
    public let displayName: String?
    /// The key that other devices reach it by.
    public let identityKey: String
    /// The key that vouches for it, for people to compare.
    public let fingerprint: String
    /// What this user has decided, or concluded.
    public let verification: MXDeviceVerification
    /// Whether its owner's identity vouches for it.
    public let isCrossSigned: Bool
    /// Whether the homeserver has named other keys for it since it was seen first: an alarm. Those are not used: what is sent
    /// to it is encrypted with the first ones.
    public let hasRefusedKeys: Bool

    init(_ record: DeviceRecord, _ trust: DeviceTrust) {
        (userId, deviceId) = (record.keys.userID, record.keys.deviceID)
        displayName = record.keys.displayName
        (identityKey, fingerprint) = (record.keys.curve25519.base64, record.keys.ed25519.base64)
        (isCrossSigned, hasRefusedKeys) = (trust.isCrossSigned, record.isSuspicious)
        verification = trust.isBlocked ? .blocked : trust.isVerified ? .verified : .unverified
    }
}

/// What is thought of a device.
public enum MXDeviceVerification: Sendable, Hashable, CaseIterable {
    /// Nothing vouches for it, as far as this user knows.
    case unverified
    /// Compared by hand, or vouched for by an owner who is verified.
    case verified
    /// It gets no keys.
    case blocked

    var trust: DeviceRecord.LocalTrust {
        switch self {
        case .unverified: .unset
        case .verified: .verified
        case .blocked: .blocked
        }
    }
}

/// How much a device is trusted.
public struct MXDeviceTrustLevel: Sendable, Hashable {
    /// What this user has decided, or concluded.
    public let localVerificationStatus: MXDeviceVerification
    /// Whether its owner's identity vouches for it.
    public let isCrossSigned: Bool

    init(_ device: MXDeviceInfo) {
        (localVerificationStatus, isCrossSigned) = (device.verification, device.isCrossSigned)
    }

    /// Whether it is verified.
    public var isVerified: Bool { localVerificationStatus == .verified }
}

/// How many of several users, and of their devices, are verified.
public struct MXUsersTrustLevelSummary: Sendable, Hashable {
    /// How many users there are.
    public internal(set) var users = 0
    /// How many of them are verified.
    public internal(set) var trustedUsers = 0
    /// How many devices they have.
    public internal(set) var devices = 0
    /// How many of those are verified.
    public internal(set) var trustedDevices = 0
}

/// What is known of a user's identity.
public struct MXUserTrustLevel: Sendable, Hashable {
    /// Whether the user has cross-signing keys.
    public let hasIdentity: Bool
    /// Whether this user has verified them, with an identity that is trusted here.
    public let isVerified: Bool
    /// Whether they are others than those that were seen first, or accepted.
    public let hasChanged: Bool
    /// Whether those were verified: then nothing is sent until the change is acknowledged.
    public let wasVerified: Bool
}

/// What to show beside a message of an encrypted room.
@nonexhaustive
public enum MXMessageShield: Sendable, Hashable, CaseIterable {
    /// Nothing.
    case none
    /// A hint: the device is its owner's, whom nobody has verified.
    case unverifiedIdentity
    /// A warning: nothing vouches for the device.
    case unsignedDevice
    /// A warning: the sender was verified, and has another identity now.
    case identityChanged
    /// A warning: nobody knows the device.
    case unknownDevice
    /// A hint: the key has come by a way that proves nothing about the sender.
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
