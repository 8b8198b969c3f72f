import Basics
import JSONBytes

/// A user's device.
package struct DeviceAddress: Hashable, Sendable {
    package let user: String
    package let device: String

    package init(_ user: String, _ device: String) { (self.user, self.device) = (user, device) }

    package static func == (lhs: DeviceAddress, rhs: DeviceAddress) -> Bool {
        lhs.user.isExactly(rhs.user) && lhs.device.isExactly(rhs.device)
    }

    /// User ids contain no line break. One that a server sends with a line break matches no member.
    var key: String { user + "\n" + device }

    init?(key: String) {
        let parts = key.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init(String(parts[0]), String(parts[1]))
    }
}

/// A user's device, as first seen.
package struct DeviceRecord: Record, Equatable {
    package static let kind = RecordKind.device
    private static let version: UInt8 = 1

    /// The user's own decision about it.
    package enum LocalTrust: UInt8, Sendable {
        case unset
        case verified
        case blocked
    }

    package var keys: DeviceKeys
    package var trust = LocalTrust.unset
    /// Whether the server lists it. Otherwise it has only announced itself, or is gone.
    package var isListed: Bool
    /// Whether it was listed once and no longer is. Its keys are kept.
    package var isDeleted = false
    /// Whether the server has listed other keys for it.
    package var isSuspicious = false
    /// The number of new channels needed because the old one was out of step.
    package var wedgingIndex: UInt64 = 0
    /// The time of the last one in milliseconds since 1970; 0 for none.
    package var lastUnwedged: UInt64 = 0
    /// The time in milliseconds since 1970.
    package let firstSeen: UInt64

    package init(keys: DeviceKeys, isListed: Bool, firstSeen: UInt64) {
        (self.keys, self.isListed, self.firstSeen) = (keys, isListed, firstSeen)
    }

    package var address: DeviceAddress { DeviceAddress(keys.userID, keys.deviceID) }

    /// Whether it can be given keys.
    package var isUsable: Bool { isListed && !isDeleted }

    package var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(keys.userID)
        writer.append(keys.deviceID)
        writer.append(keys.json.compactText)
        writer.append(trust.rawValue)
        for flag in [isListed, isDeleted, isSuspicious] { writer.append(flag) }
        for number in [wedgingIndex, lastUnwedged, firstSeen] { writer.append(number) }
        return writer.state
    }

    package init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        let (user, device) = (try reader.text(), try reader.text())
        guard let json = JSONView(Array(try reader.text().utf8)) else { throw .state }
        // Its own signature was verified on arrival.
        keys = try DeviceKeys(stored: json, user: user, device: device)
        guard let trust = LocalTrust(rawValue: try reader.number()) else { throw .state }
        self.trust = trust
        isListed = try reader.flag()
        isDeleted = try reader.flag()
        isSuspicious = try reader.flag()
        (wedgingIndex, lastUnwedged, firstSeen) = (try reader.number(), try reader.number(), try reader.number())
        try reader.end()
    }
}

/// The owner of an identity key: the first device that used it.
struct DeviceByKeyRecord: Record, Equatable {
    static let kind = RecordKind.deviceByKey
    private static let version: UInt8 = 1

    let address: DeviceAddress

    init(_ address: DeviceAddress) { self.address = address }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(address.user)
        writer.append(address.device)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        address = DeviceAddress(try reader.text(), try reader.text())
        try reader.end()
    }
}

/// A user's cross-signing keys.
package struct IdentityRecord: Record, Equatable {
    package static let kind = RecordKind.identity
    private static let version: UInt8 = 1

    /// The master key that the server has now.
    package var master: CrossSigningKey
    /// The self-signing key, signed by ``master``.
    package var selfSigning: CrossSigningKey?
    /// The user-signing key, signed by ``master``. Only for our own user.
    package var userSigning: CrossSigningKey?
    /// The first master key seen, or the one that this user has accepted since.
    package var pinned: Ed25519PublicKey
    /// Whether the user was verified with the pinned key. For our own user: whether this device trusts the master key.
    package var wasVerified = false

    package init(master: CrossSigningKey) {
        (self.master, pinned) = (master, master.publicKey)
    }

    /// Whether the server's master key differs from the pinned one.
    package var hasChanged: Bool { master.publicKey != pinned }

    package var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(master.userID)
        writer.append(master.json.compactText)
        for key in [selfSigning, userSigning] { writer.append(key) { $0.append($1.json.compactText) } }
        writer.append(pinned)
        writer.append(wasVerified)
        return writer.state
    }

    package init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        let user = try reader.text()
        func key(_ text: String, _ usage: CrossSigningUsage) throws(EncryptionError) -> CrossSigningKey {
            guard let json = JSONView(Array(text.utf8)) else { throw .state }
            return try CrossSigningKey(json, user: user, usage: usage)
        }
        master = try key(reader.text(), .master)
        selfSigning = try reader.optional { reader throws(EncryptionError) in try key(reader.text(), .selfSigning) }
        userSigning = try reader.optional { reader throws(EncryptionError) in try key(reader.text(), .userSigning) }
        pinned = try reader.key()
        wasVerified = try reader.flag()
        try reader.end()
    }
}

/// Whether a user's devices are up to date.
struct TrackedUserRecord: Record, Equatable {
    static let kind = RecordKind.trackedUser
    private static let version: UInt8 = 2

    var isOutdated: Bool
    /// A counter of changes. The answer to a query from before a change does not cover it.
    var generation: UInt64
    /// Whether the user is in an encrypted room with us, rather than only the sender of a message.
    var isMember: Bool

    init(isOutdated: Bool = true, generation: UInt64 = 0, isMember: Bool = true) {
        (self.isOutdated, self.generation, self.isMember) = (isOutdated, generation, isMember)
    }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(isOutdated)
        writer.append(generation)
        writer.append(isMember)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        let isOld = state.withUnsafeBytes { $0.first } == 1
        var reader = try StateReader(state, version: isOld ? 1 : Self.version)
        (isOutdated, generation) = (try reader.flag(), try reader.number())
        isMember = isOld ? true : try reader.flag()
        try reader.end()
    }
}
