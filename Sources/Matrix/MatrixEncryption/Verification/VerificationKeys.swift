import Basics

/// The keys of a verification, fixed at its beginning. Nothing that a server sends later changes them.
struct VerificationKeys: Sendable, Equatable {
    /// This device's key.
    let device: Ed25519PublicKey
    let ownMaster: Ed25519PublicKey?
    /// Whether this device trusts ``ownMaster``.
    let trustsOwnMaster: Bool
    /// The other user's master key; between devices of one user, ``ownMaster``.
    let otherMaster: Ed25519PublicKey?
    /// The other user's devices that may take part.
    var otherDevices: [Device]

    struct Device: Sendable, Equatable {
        let id: String
        let key: Ed25519PublicKey

        static func == (lhs: Device, rhs: Device) -> Bool { lhs.id.isExactly(rhs.id) && lhs.key == rhs.key }
    }

    func key(of device: String) -> Ed25519PublicKey? { otherDevices.first { $0.id.isExactly(device) }?.key }

    /// Returns whether the server has replaced any of these keys.
    ///
    /// - Parameters:
    ///   - now: The current keys.
    ///   - device: The device that takes part; `nil` until there is one.
    func hasChanged(to now: VerificationKeys, device: String?) -> Bool {
        if self.device != now.device || ownMaster != now.ownMaster || otherMaster != now.otherMaster { return true }
        return device.map { key(of: $0) != now.key(of: $0) } ?? false
    }

    /// Returns the keys that this side vouches for, by id.
    func vouched(by me: DeviceAddress) -> [String: Ed25519PublicKey] {  // own names: base64 and one device
        var keys = ["ed25519:" + me.device: device]
        if trustsOwnMaster, let ownMaster { keys["ed25519:" + ownMaster.base64] = ownMaster }
        return keys
    }

    /// Returns the keys that the other side is expected to have, by id.
    func expected(of device: String) -> [String: Ed25519PublicKey] {  // own names: base64 and one device
        var keys: [String: Ed25519PublicKey] = [:]  // own names: base64 and one device
        if let otherMaster { keys["ed25519:" + otherMaster.base64] = otherMaster }
        keys["ed25519:" + device] = key(of: device)
        return keys
    }

    // MARK: QR code

    /// Returns the code to show; `nil` if this side lacks a key or does not trust its own.
    func code(
        id: String, device other: String, isSameUser: Bool, random: RandomSource
    ) -> VerificationQRCode? {
        guard let ownMaster, let otherMaster, let otherDevice = key(of: other) else { return nil }
        let (mode, first, second): (VerificationQRCode.Mode, Ed25519PublicKey, Ed25519PublicKey)
        switch (isSameUser, trustsOwnMaster) {
        case (false, true): (mode, first, second) = (.otherUser, ownMaster, otherMaster)
        case (false, false): return nil
        case (true, true): (mode, first, second) = (.trustingDevice, ownMaster, otherDevice)
        case (true, false): (mode, first, second) = (.untrustingDevice, device, ownMaster)
        }
        return try? VerificationQRCode(
            mode: mode, id: id, firstKey: first, secondKey: second, secret: random.secret(16))
    }

    /// Checks a code shown by the other side.
    ///
    /// - Throws: `untrusted` if this side lacks a key, or does not trust its own; `ids`, `mode`; `keys` if the keys of
    ///   the two sides differ.
    func verify(
        _ code: VerificationQRCode, id: String, device other: String, isSameUser: Bool
    ) throws(EncryptionError) {
        guard let ownMaster, let otherMaster, let otherDevice = key(of: other) else { throw .untrusted }
        switch (isSameUser, trustsOwnMaster) {
        case (false, true): try code.verify(id: id, mode: .otherUser, firstKey: otherMaster, secondKey: ownMaster)
        case (false, false): throw .untrusted
        case (true, true):
            try code.verify(id: id, mode: .untrustingDevice, firstKey: otherDevice, secondKey: ownMaster)
        case (true, false): try code.verify(id: id, mode: .trustingDevice, firstKey: ownMaster, secondKey: device)
        }
    }
}
