import Basics
import MatrixEncryption
public import MatrixProtocol

/// Verifications with other users and devices: two people make sure that nobody stands between them, by comparing emoji or
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

    /// Those that run, and those that have ended lately.
    public var verifications: [MXKeyVerification] {
        (core.account.opened { $0.crypto?.verifications ?? [] } ?? []).map { MXKeyVerification($0, core) }
    }

    /// Those that others have asked for, and that wait for this user's answer.
    public var pendingRequests: [MXKeyVerification] {
        verifications.filter { $0.isIncoming && $0.state == .requested }
    }

    /// Each verification whenever its ``MXKeyVerification/state`` changes, in order. What happens before the first is asked for
    /// is kept.
    public func changes() -> AsyncStream<MXKeyVerification> {
        core.cryptoNotices { [weak core] notice in
            guard case .verificationChanged(let id) = notice else { return nil }
            return core?.verification(id)
        }
    }

    /// Asks another device of one's own, or those of another user, by messages to devices.
    ///
    /// - Parameter deviceId: Nil asks all of them: the first one that answers takes part.
    /// - Throws: `MatrixError` if there is no such device, or the homeserver does not tell of it.
    public func requestVerificationByToDevice(
        withUserId userId: String, deviceId: String? = nil
    ) async throws -> MXKeyVerification {
        try await core.downloadKeys(of: [userId, core.userId], isForced: true)
        return try begun(
            core.cryptoCommand { machine, turn in
                try machine.requestVerification(of: userId, device: deviceId, &turn)
            })
    }

    /// Asks another user in a room with them, as clients do by now. It begins when the homeserver has the message:
    /// ``changes()`` tells.
    public func requestVerificationByDM(withUserId userId: String, roomId: String) async throws {
        try await core.downloadKeys(of: [userId, core.userId], isForced: true)
        try core.cryptoCommand { machine, turn in try machine.requestVerification(of: userId, inRoom: roomId, &turn) }
    }

    /// Begins to compare with a device whose client is too old for requests.
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

/// One verification, as it stands at a moment.
public struct MXKeyVerification: Sendable, Identifiable {
    /// How far it is.
    @nonexhaustive
    public enum State: Sendable, Hashable {
        /// Somebody is asked: this user if it is incoming, else the other.
        case requested
        /// Both sides agree to it. One of them starts, or scans the other's code.
        ///
        /// - Parameter code: What a QR code in byte mode shows; nil if the other side could not scan one.
        case ready(canCompare: Bool, canScan: Bool, code: [UInt8]?)
        /// Waits for the other side's keys.
        case exchanging
        /// Both users compare. Each list is empty if the two sides have not agreed on it.
        case comparing(emoji: [MXEmojiRepresentation], decimals: [Int], isConfirmed: Bool)
        /// The other side's code was scanned here; its user is asked.
        case scanned
        /// The other side says that it has scanned our code; this user is asked whether it shows that.
        case reciprocated
        /// This side is done, and trusts the other.
        case verified
        /// Both are done.
        case done
        /// - Parameter reason: In words.
        case cancelled(reason: String, byPeer: Bool)
    }

    /// Names a verification.
    public struct ID: Sendable, Hashable {
        let id: Verification.ID
    }

    /// Its name.
    public let id: ID
    /// The other side; one's own user for another device of one's own.
    public let userId: String
    /// The other side's device; nil as long as it is not known which one answers.
    public let deviceId: String?
    /// The room in which it runs; nil if it runs between devices.
    public let roomId: String?
    /// Whether the other side has asked for it.
    public let isIncoming: Bool
    /// How far it is.
    public let state: State
    private let core: SessionCore

    init(_ verification: Verification, _ core: SessionCore) {
        id = ID(id: verification.id)
        (userId, deviceId, roomId) = (verification.id.user, verification.device, verification.id.roomId)
        (isIncoming, state) = (verification.direction == .incoming, State(verification.state))
        self.core = core
    }

    /// Agrees to what the other side has asked for.
    public func accept() throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.acceptVerification(id.id, &turn) }
    }

    /// Begins to compare emoji or numbers.
    public func startSAS() throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.startComparing(id.id, &turn) }
    }

    /// This user sees the same as the other.
    public func confirmSASMatch() throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.confirmSame(id.id, &turn) }
    }

    /// The other side's code was scanned.
    ///
    /// - Throws: `MatrixError` for what is no such code: it may be scanned again.
    public func scanned(code: [UInt8]) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.scanned(code, id.id, &turn) }
    }

    /// The other side shows that it has scanned our code.
    public func confirmScanned() throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.confirmScanned(id.id, &turn) }
    }

    /// Ends it without a result.
    ///
    /// - Parameter isMismatch: Because the two users see different things.
    public func cancel(isMismatch: Bool = false) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in
            try machine.cancelVerification(id.id, isMismatch ? .mismatchedSAS : .user, &turn)
        }
    }
}

/// One of the pictures that two people compare.
public struct MXEmojiRepresentation: Sendable, Hashable {
    /// Terminals may lack it: show the name, too.
    public let emoji: String
    /// In English. Clients differ in names.
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
