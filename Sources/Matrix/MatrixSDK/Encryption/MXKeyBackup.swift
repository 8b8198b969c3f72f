import MatrixEncryption
import MatrixProtocol

/// The backup of room keys on the homeserver, from which a new device reads old messages.
///
/// The homeserver cannot read its contents. Keys are written automatically, within seconds of their arrival, once
/// ``state`` is ``State/readyToBackUp(version:)``. A device that has the backup's private key also asks it for missing
/// keys.
///
///     try await session.crypto?.backup.refreshState()
///     try await session.crypto?.backup.createKeyBackupVersion()
public final class MXKeyBackup: Sendable {
    /// This device's relation to the backup.
    @nonexhaustive
    public enum State: Sendable, Hashable {
        /// The homeserver has not been asked yet: see ``MXKeyBackup/refreshState()``.
        case unknown
        /// There is no backup.
        case disabled
        /// There is a backup that no one this device trusts vouches for. Nothing is written to it.
        case notTrusted(version: String)
        /// Keys are written to the backup.
        case readyToBackUp(version: String)
    }

    /// The result of a restoration.
    public struct Restoration: Sendable, Hashable {
        /// The number of keys in the backup.
        public let total: Int
        /// The number of keys that are new, or better than the existing ones.
        public let imported: Int
        /// The number of unreadable keys: damaged, or encrypted for another key.
        public let damaged: Int
    }

    private let core: SessionCore
    package var rest: MXRestClient { core.rest }

    init(_ core: SessionCore) { self.core = core }

    // MARK: State

    /// This device's relation to the backup, as last reported by the homeserver.
    public var state: State {
        let state = try? core.encryption { machine, turn, _, _ in try machine.backupState(&turn) }
        return State(state ?? .unknown)
    }

    /// Whether keys are written to the backup.
    public var enabled: Bool {
        if case .readyToBackUp = state { true } else { false }
    }

    /// The version of the homeserver's backup; `nil` if there is none, or it was not asked.
    public var keyBackupVersion: String? {
        switch state {
        case .unknown, .disabled: nil
        case .notTrusted(let version), .readyToBackUp(let version): version
        }
    }

    /// Whether this device has the backup's private key, with which it can read the backup.
    public var hasPrivateKey: Bool {
        (try? core.encryption { machine, turn, _, _ in try machine.hasBackupKey(&turn) }) ?? false
    }

    /// The backup's private key in a form the user can write down; `nil` if this device does not have it.
    /// ``MXRecoveryService`` keeps it with the other secrets, which is what most users want.
    public var recoveryKey: String? {
        let key = try? core.encryption { machine, turn, _, _ in try machine.backupRecoveryKey(&turn) }
        return key.flatMap(\.self)
    }

    /// The number of keys waiting to be written.
    public var keysToBackUp: Int {
        (try? core.encryption { machine, turn, _, _ in try machine.sessionsToBackUp(&turn) }) ?? 0
    }

    /// Asks the homeserver which backup there is.
    ///
    /// - Throws: `MatrixError` with code `timedOut` if it does not answer within ten seconds.
    public func refreshState() async throws {
        try core.cryptoCommand { machine, _ in machine.checkBackup() }
        try await settle("the homeserver did not say which backup of keys there is")
    }

    // MARK: Creating and deleting

    /// Creates a backup with a new key. All keys of this device are written to it.
    ///
    /// - Parameter isReplacement: Whether to replace an existing backup. The former backup's key cannot read the new
    ///   one.
    /// - Returns: The backup's version.
    /// - Throws: `MatrixError` with code `invalidArgument` if there is a backup that is not to be replaced,
    ///   `badResponse` if the homeserver refuses, or `timedOut` if it does not answer within ten seconds: the next
    ///   session continues.
    @discardableResult
    public func createKeyBackupVersion(isReplacement: Bool = false) async throws -> String {
        try await refreshState()
        let former = keyBackupVersion
        try core.cryptoCommand { machine, turn in try machine.makeBackup(isReplacement: isReplacement, &turn) }
        try await settle("the homeserver did not make the backup of keys")
        guard case .readyToBackUp(let version) = state, version != former else {
            throw MatrixError(.badResponse, "the homeserver has refused to make a backup of keys")
        }
        return version
    }

    /// Deletes the backup, and the ones before it, which the homeserver would offer instead.
    ///
    /// - Throws: `MatrixError` with code `badResponse` if the homeserver refuses, or `timedOut` if it does not answer
    ///   within ten seconds.
    public func deleteKeyBackupVersion() async throws {
        try await refreshState()
        try core.cryptoCommand { machine, turn in try machine.deleteBackup(&turn) }
        try await settle("the homeserver did not delete the backup of keys")
        guard state == .disabled else {
            throw MatrixError(.badResponse, "the homeserver has refused to delete the backup of keys")
        }
    }

    private func settle(_ failure: String) async throws {
        try await core.waitForAnswers(orThrow: MatrixError(.timedOut, "\(failure) in time")) { machine, turn in
            try machine.isBackupChanging(&turn) ? nil : ()
        }
    }

    // MARK: Writing and reading

    /// Waits until all keys are written.
    ///
    /// - Throws: `MatrixError` with code `invalidArgument` if there is no writable backup, or `timedOut` after ten
    ///   seconds without an answer.
    public func backupAllGroupSessions() async throws {
        guard enabled else {
            throw MatrixError(
                .invalidArgument, "there is no backup of keys that this device trusts: nothing was written")
        }
        try core.cryptoCommand { machine, _ in machine.backUpNow() }
        let late = MatrixError(.timedOut, "the homeserver did not take all keys in time: the rest is written later")
        var left = keysToBackUp
        while left > 0 {
            let before = left
            left = try await core.waitForAnswers(orThrow: late) { machine, turn in
                let count = try machine.sessionsToBackUp(&turn)
                return count < before ? count : nil
            }
        }
    }

    /// Imports all keys in the backup. Messages that waited for them are decrypted.
    ///
    /// Messages read with such keys prove nothing about their author. The restoration continues until it is done, or
    /// the task is cancelled; if the homeserver cannot be reached, it retries.
    ///
    /// - Parameter recoveryKey: The recovery key of the backup, if this device does not have its private key yet.
    /// - Throws: `MatrixError` with code `invalidArgument` if there is no backup, or the key is for another one;
    ///   `badResponse` if the homeserver refuses.
    public func restore(withRecoveryKey recoveryKey: String? = nil) async throws -> Restoration {
        try await refreshState()
        let key = try recoveryKey.map { text throws(MatrixError) in try MXRecoveryService.key(fromRecoveryKey: text) }
        let notices = core.cryptoNotices(\.self)
        try core.cryptoCommand { machine, turn in
            if case .none = try machine.backupState(&turn) { throw MatrixError.noKeyBackup }
            if let key { try machine.take(key, as: .backup, &turn) }
            guard try machine.hasBackupKey(&turn) else { throw MatrixError.noKeyOfBackup }
            try machine.restoreBackup(&turn)
        }
        for await notice in notices {
            if case .backupRestored(let result) = notice {
                return Restoration(total: result.total, imported: result.imported, damaged: result.damaged)
            }
            if case .backupRefused = notice {
                throw MatrixError(.badResponse, "the homeserver does not give the backup of keys: nothing was restored")
            }
        }
        try Task.checkCancellation()
        throw MatrixError.sessionClosed
    }
}

extension MXKeyBackup.State {
    fileprivate init(_ state: BackupState) {
        self =
            switch state {
            case .unknown: .unknown
            case .none: .disabled
            case .untrusted(let version): .notTrusted(version: version)
            case .ready(let version): .readyToBackUp(version: version)
            }
    }
}

extension MatrixError {
    fileprivate static let noKeyBackup = MatrixError(
        .invalidArgument, "the homeserver has no backup of keys: nothing was restored")
    fileprivate static let noKeyOfBackup = MatrixError(
        .invalidArgument,
        "the key of the backup is not on this device: give the recovery key, or verify this device with another one")
}
