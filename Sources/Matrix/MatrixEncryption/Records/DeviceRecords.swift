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

    /// User ids hold no line break: what a server sends as one does not match any member.
    var key: String { user + "\n" + device }

    init?(key: String) {
        let parts = key.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init(String(parts[0]), String(parts[1]))
    }
}

/// A device of a user, as it was first seen.
package struct DeviceRecord: Record, Equatable {
    package static let kind = RecordKind.device
    private static let version: UInt8 = 1

    /// What this user has decided about it.
    package enum LocalTrust: UInt8, Sendable {
        case unset
        case verified
        case blocked
    }

    package var keys: DeviceKeys
    package var trust = LocalTrust.unset
    /// The server lists it. Otherwise it has only announced itself, or is gone.
    package var isListed: Bool
    /// It was listed once, and is not any more. Its keys are remembered.
    package var isDeleted = false
    /// The server has named other keys for it.
    package var isSuspicious = false
    /// Counts how often a new channel to it was needed since the old one was out of step.
    package var wedgingIndex: UInt64 = 0
    /// Milliseconds since 1970 when the last of these was made; 0 for none.
    package var lastUnwedged: UInt64 = 0
    /// Milliseconds since 1970.
    package let firstSeen: UInt64

    package init(keys: DeviceKeys, isListed: Bool, firstSeen: UInt64) {
        (self.keys, self.isListed, self.firstSeen) = (keys, isListed, firstSeen)
    }

    package var address: DeviceAddress { DeviceAddress(keys.userID, keys.deviceID) }

    /// It can be given keys.
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
        // Its own signature was checked when it came.
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

/// Whose an identity key is: the first device that had it.
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

    /// As the server has it now.
    package var master: CrossSigningKey
    /// Signed by ``master``.
    package var selfSigning: CrossSigningKey?
    /// Our own only; signed by ``master``.
    package var userSigning: CrossSigningKey?
    /// The master key that was seen first, or that this user has accepted since.
    package var pinned: Ed25519PublicKey
    /// The user was verified with the pinned key. Of our own: this device trusts the master key.
    package var wasVerified = false

    package init(master: CrossSigningKey) {
        (self.master, pinned) = (master, master.publicKey)
    }

    /// The server names another master key than the one that is pinned.
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

/// Whether a user's devices are known as they are now.
struct TrackedUserRecord: Record, Equatable {
    static let kind = RecordKind.trackedUser
    private static let version: UInt8 = 2

    var isOutdated: Bool
    /// Counts the changes: an answer to a query of before a change does not make up for it.
    var generation: UInt64
    /// Is in an encrypted room with us, and not only somebody who has sent something.
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
