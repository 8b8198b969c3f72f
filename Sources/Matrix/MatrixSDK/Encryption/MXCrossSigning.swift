import JSONBytes
import MatrixEncryption
import MatrixProtocol

/// The user's own identity: three keys that vouch for his devices and for users whom he has verified.
public final class MXCrossSigning: Sendable {
    /// What this device knows of it.
    @nonexhaustive
    public enum State: Sendable, Hashable {
        /// The homeserver has not been asked yet.
        case unknown
        /// There is none: see ``MXCrossSigning/setup(isReset:)``.
        case notBootstrapped
        /// There is one that this device does not trust: verify it with another device, or with the recovery key.
        case crossSigningExists
        /// It is trusted, but this device cannot sign with it.
        case trustCrossSigning
        /// It is trusted, and this device can sign.
        case canCrossSign
    }

    private let core: SessionCore
    package var rest: MXRestClient { core.rest }

    init(_ core: SessionCore) { self.core = core }

    /// What this device knows of it.
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

    /// The public keys of a user's identity, as the homeserver has told them; nil if there are none, or it was not asked: see
    /// ``MXCrypto/downloadKeys(_:forceDownload:)``.
    public func crossSigningKeys(forUser userId: String) -> MXCrossSigningInfo? {
        let keys = try? core.encryption { machine, turn, _, _ in try machine.identityKeys(of: userId, &turn) }
        guard let keys, let master = keys[.master] else { return nil }
        return MXCrossSigningInfo(
            userId: userId, masterKey: master.base64, selfSigningKey: keys[.selfSigning]?.base64,
            userSigningKey: keys[.userSigning]?.base64)
    }

    /// Whether this device has all its private keys.
    public var hasAllPrivateKeys: Bool { state == .canCrossSign }

    /// Asks the homeserver.
    @discardableResult
    public func refreshState() async throws -> State {
        try await core.downloadKeys(of: [core.userId], isForced: true)
        return state
    }

    /// Asks the user's other devices for the private keys that are not here. One that is asked answers if it has verified this
    /// device: ``state`` changes then. A device that is verified later is asked, too, unless devices are named.
    ///
    /// - Parameter deviceIds: Of verified devices; nil is all of them.
    /// - Throws: `MatrixError` of code `invalidArgument` if one that is named is not a verified device of the user's.
    public func requestPrivateKeys(toDeviceIds deviceIds: [String]? = nil) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in
            try machine.requestMissingSecrets(again: true, of: deviceIds, &turn)
        }
    }

    /// Makes the identity, and signs this device with it.
    ///
    /// - Parameter isReset: Takes the place of one that is there: whoever has verified the user must do so again.
    /// - Returns: Whether it is done, or what the homeserver wants of the user first.
    /// - Throws: `MatrixError` of code `invalidArgument` if there is one already.
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

    /// Vouches for another device of one's own.
    public func crossSignDevice(withDeviceId deviceId: String) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.signDevice(deviceId, &turn) }
    }

    /// Vouches for another user, whose identity was compared.
    public func signUser(withUserId userId: String) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.signUser(userId, &turn) }
    }
}

/// The public keys of a user's identity, in base64.
public struct MXCrossSigningInfo: Hashable, Sendable {
    /// Whose they are.
    public let userId: String
    /// Vouches for the other two: what other users compare.
    public let masterKey: String
    /// Vouches for the user's devices.
    public let selfSigningKey: String?
    /// Vouches for other users; only of one's own identity.
    public let userSigningKey: String?
}
