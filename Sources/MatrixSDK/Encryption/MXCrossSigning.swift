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
