import Basics
import MatrixEncryption
public import MatrixProtocol

/// Verifications with other users and devices: two people make sure that no one is between them, by comparing emoji or
/// by showing a code.
///
///     let manager = session.crypto!.keyVerificationManager
///     let verification = try await manager.requestVerificationByToDevice(withUserId: userId, deviceId: nil)
///     for await change in manager.changes() where change.id == verification.id { … change.state … }
public final class MXKeyVerificationManager: Sendable {
    private let core: SessionCore
    package var rest: MXRestClient { core.rest }

    init(_ core: SessionCore) { self.core = core }

    /// The session's own user.
    public var userId: String { core.userId }

    /// The active verifications, and recently ended ones.
    public var verifications: [MXKeyVerification] {
        (core.account.opened { $0.crypto?.verifications ?? [] } ?? []).map { MXKeyVerification($0, core) }
    }

    /// The requests of others that wait for this user's answer.
    public var pendingRequests: [MXKeyVerification] {
        verifications.filter { $0.isIncoming && $0.state == .requested }
    }

    /// Returns each verification whenever its ``MXKeyVerification/state`` changes, in order. Changes before the first
    /// element is requested are kept.
    public func changes() -> AsyncStream<MXKeyVerification> {
        core.cryptoNotices { [weak core] notice in
            guard case .verificationChanged(let id) = notice else { return nil }
            return core?.verification(id)
        }
    }

    /// Requests verification from another device of the user, or another user's devices, by messages to devices.
    ///
    /// - Parameter deviceId: The device; `nil` asks all of them, and the first to answer takes part.
    /// - Throws: `MatrixError` if there is no such device, or the homeserver does not report it.
    public func requestVerificationByToDevice(
        withUserId userId: String, deviceId: String? = nil
    ) async throws -> MXKeyVerification {
        try await core.downloadKeys(of: [userId, core.userId], isForced: true)
        return try begun(
            core.cryptoCommand { machine, turn in
                try machine.requestVerification(of: userId, device: deviceId, &turn)
            })
    }

    /// Requests verification from another user in a shared room, as current clients do. It begins when the homeserver
    /// has the message, which ``changes()`` reports.
    public func requestVerificationByDM(withUserId userId: String, roomId: String) async throws {
        try await core.downloadKeys(of: [userId, core.userId], isForced: true)
        try core.cryptoCommand { machine, turn in try machine.requestVerification(of: userId, inRoom: roomId, &turn) }
    }

    /// Starts comparing with a device whose client is too old for requests.
    public func beginKeyVerification(
        withUserId userId: String, deviceId: String
    ) async throws -> MXKeyVerification {
        try await core.downloadKeys(of: [userId, core.userId], isForced: true)
        return try begun(
            core.cryptoCommand { machine, turn in
                try machine.startComparing(with: DeviceAddress(userId, deviceId), &turn)
            })
    }

    private func begun(_ id: Verification.ID) throws(MatrixError) -> MXKeyVerification {
        guard let verification = core.verification(id) else {
            throw MatrixError(.invalidArgument, "the verification has ended already")
        }
        return verification
    }
}

/// The state of a verification at a given moment.
public struct MXKeyVerification: Sendable, Identifiable {
    /// The stage of a verification.
    @nonexhaustive
    public enum State: Sendable, Hashable {
        /// Waiting for an answer: from this user if it is incoming, else from the other.
        case requested
        /// Both sides have agreed. One of them starts, or scans the other's code.
        ///
        /// - Parameter code: The data to show as a QR code in byte mode; `nil` if the other side could not scan it.
        case ready(canCompare: Bool, canScan: Bool, code: [UInt8]?)
        /// Waiting for the other side's keys.
        case exchanging
        /// Both users compare. Each list is empty if the two sides have not agreed on it.
        case comparing(emoji: [MXEmojiRepresentation], decimals: [Int], isConfirmed: Bool)
        /// This side has scanned the other's code, and the other user is asked to confirm.
        case scanned
        /// The other side claims to have scanned our code; this user is asked whether it shows that.
        case reciprocated
        /// This side is done and trusts the other.
        case verified
        /// Both sides are done.
        case done
        /// - Parameter reason: The reason in words.
        case cancelled(reason: String, byPeer: Bool)
    }

    /// The id of a verification.
    public struct ID: Sendable, Hashable {
        let id: Verification.ID
    }

    /// The verification's id.
    public let id: ID
    /// The other side's user; the user's own id for another device of the user.
    public let userId: String
    /// The other side's device; `nil` until it is known which one answers.
    public let deviceId: String?
    /// The room of the verification; `nil` if it takes place between devices.
    public let roomId: String?
    /// Whether the other side requested it.
    public let isIncoming: Bool
    /// The current stage.
    public let state: State
    private let core: SessionCore

    init(_ verification: Verification, _ core: SessionCore) {
        id = ID(id: verification.id)
        (userId, deviceId, roomId) = (verification.id.user, verification.device, verification.id.roomId)
        (isIncoming, state) = (verification.direction == .incoming, State(verification.state))
        self.core = core
    }

    /// Accepts the other side's request.
    public func accept() throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.acceptVerification(id.id, &turn) }
    }

    /// Starts comparing emoji or numbers.
    public func startSAS() throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.startComparing(id.id, &turn) }
    }

    /// Confirms that this user sees the same as the other.
    public func confirmSASMatch() throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.confirmSame(id.id, &turn) }
    }

    /// Reports the other side's scanned code.
    ///
    /// - Throws: `MatrixError` if it is not such a code: the user may scan again.
    public func scanned(code: [UInt8]) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.scanned(code, id.id, &turn) }
    }

    /// Confirms that the other side shows that it has scanned our code.
    public func confirmScanned() throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.confirmScanned(id.id, &turn) }
    }

    /// Ends the verification without a result.
    ///
    /// - Parameter isMismatch: Whether the two users see different things.
    public func cancel(isMismatch: Bool = false) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in
            try machine.cancelVerification(id.id, isMismatch ? .mismatchedSAS : .user, &turn)
        }
    }
}

/// A picture that two people compare.
public struct MXEmojiRepresentation: Sendable, Hashable {
    /// The emoji. Terminals may not show it, so show the name as well.
    public let emoji: String
    /// The English name. Clients differ in names.
    public let name: String
}

extension MXKeyVerification.State {
    fileprivate init(_ state: Verification.State) {
        self =
            switch state {
            case .requested: .requested
            case .ready(let canCompare, let canScan, let code):
                .ready(canCompare: canCompare, canScan: canScan, code: code?.bytes)
            case .exchanging: .exchanging
            case .comparing(let emoji, let decimals, let isConfirmed):
                .comparing(
                    emoji: emoji.map { MXEmojiRepresentation(emoji: $0.symbol, name: $0.name) }, decimals: decimals,
                    isConfirmed: isConfirmed)
            case .scanned: .scanned
            case .reciprocated: .reciprocated
            case .verified: .verified
            case .done: .done
            case .cancelled(let code, let byPeer):
                .cancelled(reason: code?.reason ?? "The other side gave no known reason.", byPeer: byPeer)
            }
    }
}

extension SessionCore {
    fileprivate func verification(_ id: Verification.ID) -> MXKeyVerification? {
        (account.opened { $0.crypto?.verification(id) } ?? nil).map { MXKeyVerification($0, self) }
    }
}

extension MXCrypto {
    /// Verifications with other users and devices.
    public var keyVerificationManager: MXKeyVerificationManager { MXKeyVerificationManager(core) }
}
