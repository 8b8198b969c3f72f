import JSONBytes
import MatrixEncryption
import MatrixProtocol

/// The user's own identity: three keys that vouch for the user's devices and for users they have verified.
public final class MXCrossSigning: Sendable {
    /// This device's knowledge of the identity.
    @nonexhaustive
    public enum State: Sendable, Hashable {
        /// The homeserver has not been asked yet.
        case unknown
        /// There is no identity: see ``MXCrossSigning/setup(isReset:)``.
        case notBootstrapped
        /// This device does not trust the identity: verify it with another device, or with the recovery key.
        case crossSigningExists
        /// The identity is trusted, but this device cannot sign with it.
        case trustCrossSigning
        /// The identity is trusted, and this device can sign.
        case canCrossSign
    }

    private let core: SessionCore
    package var rest: MXRestClient { core.rest }

    init(_ core: SessionCore) { self.core = core }

    /// This device's knowledge of the identity.
    public var state: State {
        let state = try? core.encryption { machine, turn, _, _ in try machine.ownIdentity(&turn) }
        switch state {
        case nil, .unknown: return .unknown
        case .missing: return .notBootstrapped
        case .untrusted: return .crossSigningExists
        case .trusted: return .trustCrossSigning
        case .complete: return .canCrossSign
        }
    }

    /// Returns the public keys of a user's identity, as reported by the homeserver, or `nil` if there are none, or it
    /// was not asked: see ``MXCrypto/downloadKeys(_:forceDownload:)``.
    public func crossSigningKeys(forUser userId: String) -> MXCrossSigningInfo? {
        let keys = try? core.encryption { machine, turn, _, _ in try machine.identityKeys(of: userId, &turn) }
        guard let keys, let master = keys[.master] else { return nil }
        return MXCrossSigningInfo(
            userId: userId, masterKey: master.base64, selfSigningKey: keys[.selfSigning]?.base64,
            userSigningKey: keys[.userSigning]?.base64)
    }

    /// Whether this device has all private keys of the identity.
    public var hasAllPrivateKeys: Bool { state == .canCrossSign }

    /// Asks the homeserver for the current state.
    @discardableResult
    public func refreshState() async throws -> State {
        try await core.downloadKeys(of: [core.userId], isForced: true)
        return state
    }

    /// Asks the user's other devices for missing private keys. A device answers if it has verified this one; ``state``
    /// then changes. Devices verified later are asked as well, unless you name devices.
    ///
    /// - Parameter deviceIds: The verified devices to ask; `nil` for all of them.
    /// - Throws: `MatrixError` with code `invalidArgument` if a named device is not a verified device of the user.
    public func requestPrivateKeys(toDeviceIds deviceIds: [String]? = nil) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in
            try machine.requestMissingSecrets(again: true, of: deviceIds, &turn)
        }
    }

    /// Creates the identity, and signs this device with it.
    ///
    /// - Parameter isReset: Whether to replace an existing identity. Everyone who has verified the user must do so
    ///   again.
    /// - Returns: Whether it is done, or what the homeserver requires of the user first.
    /// - Throws: `MatrixError` with code `invalidArgument` if an identity exists already.
    public func setup(isReset: Bool = false) async throws -> MXInteractiveStep<Bool> {
        let core = core
        try await core.downloadKeys(of: [core.userId], isForced: true)
        let body = try core.encryption { machine, turn, _, _ in try machine.makeIdentity(isReset: isReset, &turn) }
        let call = APICall(
            .post, "v3/keys/device_signing/upload", body: EncodedJSON(text: Array(body.compactText.utf8)))
        return try await core.rest.interactive(call) { _ in
            try core.cryptoCommand { machine, turn in try machine.identityUploaded(&turn) }
            return true
        }
    }

    /// Vouches for another device of the user.
    public func crossSignDevice(withDeviceId deviceId: String) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.signDevice(deviceId, &turn) }
    }

    /// Vouches for another user whose identity was compared.
    public func signUser(withUserId userId: String) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.signUser(userId, &turn) }
    }
}

/// The public keys of a user's identity, in base64.
public struct MXCrossSigningInfo: Hashable, Sendable {
    /// The user to whom the keys belong.
    public let userId: String
    /// The key that vouches for the other two, and that other users compare.
    public let masterKey: String
    /// The key that vouches for the user's devices.
    public let selfSigningKey: String?
    /// The key that vouches for other users; only for the user's own identity.
    public let userSigningKey: String?
}
