import MatrixEncryption
import MatrixProtocol

/// The backup of room keys on the homeserver, from which a new device reads old messages.
///
/// The homeserver cannot read what is in it. Keys are written to it by themselves, within seconds of their arrival, once
/// ``state`` is ``State/readyToBackUp(version:)``; a device that has the backup's private key also asks it for keys that are
/// missing.
///
///     try await session.crypto?.backup.refreshState()
///     try await session.crypto?.backup.createKeyBackupVersion()
public final class MXKeyBackup: Sendable {
    /// How this device stands to the backup.
    @nonexhaustive
    public enum State: Sendable, Hashable {
        /// The homeserver has not been asked yet: see ``MXKeyBackup/refreshState()``.
        case unknown
        /// There is none.
        case disabled
        /// There is one that nobody whom this device trusts vouches for. Nothing is written to it.
        case notTrusted(version: String)
        /// Keys are written to it.
        case readyToBackUp(version: String)
    }

    /// What a restoration has brought.
    public struct Restoration: Sendable, Hashable {
        /// Keys that the backup holds.
        public let total: Int
        /// Those of them that are new here, or better than what was here.
        public let imported: Int
        /// Those that could not be read: damaged, or written for another key.
        public let damaged: Int
    }

    private let core: SessionCore
    package var rest: MXRestClient { core.rest }

    init(_ core: SessionCore) { self.core = core }

    // MARK: State

    /// How this device stands to the backup, as of what the homeserver last said.
    public var state: State {
        let state = try? core.encryption { machine, turn, _, _ in try machine.backupState(&turn) }
        return State(state ?? .unknown)
    }

    /// Whether keys are written to it.
    public var enabled: Bool {
        if case .readyToBackUp = state { true } else { false }
    }

    /// The version of the backup that the homeserver has; nil if there is none, or it was not asked.
    public var keyBackupVersion: String? {
        switch state {
        case .unknown, .disabled: nil
        case .notTrusted(let version), .readyToBackUp(let version): version
        }
    }

    /// Whether the backup's private key is here, so that it can be read.
    public var hasPrivateKey: Bool {
        (try? core.encryption { machine, turn, _, _ in try machine.hasBackupKey(&turn) }) ?? false
    }

    /// What the user may write down of that key; nil if it is not here. ``MXRecoveryService`` keeps it with the other secrets,
    /// which is what most users want.
    public var recoveryKey: String? {
        let key = try? core.encryption { machine, turn, _, _ in try machine.backupRecoveryKey(&turn) }
        return key.flatMap(\.self)
    }

    /// How many keys wait to be written.
    public var keysToBackUp: Int {
        (try? core.encryption { machine, turn, _, _ in try machine.sessionsToBackUp(&turn) }) ?? 0
    }

    /// Asks the homeserver which backup there is.
    ///
    /// - Throws: `MatrixError` of code `timedOut` if it does not answer within ten seconds.
    public func refreshState() async throws {
        try core.cryptoCommand { machine, _ in machine.checkBackup() }
        try await settle("the homeserver did not say which backup of keys there is")
    }

    // MARK: Making and deleting

    /// Makes a backup with a new key. All keys that are here are written to it.
    ///
    /// - Parameter isReplacement: Takes the place of one that is there. Whoever has only the former one's key cannot read the
    ///   new one.
    /// - Returns: Its version.
    /// - Throws: `MatrixError` of code `invalidArgument` if there is one and it is not to be replaced; `badResponse` if the homeserver
    ///   refuses, `timedOut` if it does not answer within ten seconds: the next session goes on.
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

    /// Deletes the backup, and those before it, which the homeserver would offer instead.
    ///
    /// - Throws: `MatrixError` of code `badResponse` if the homeserver refuses, `timedOut` if it does not answer within ten seconds.
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

    /// Returns when no key waits to be written any more.
    ///
    /// - Throws: `MatrixError` of code `invalidArgument` without a backup that can be written to, `timedOut` if ten seconds
    ///   have passed without an answer.
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

    /// Takes all keys that the backup holds. Messages that have waited for them are read.
    ///
    /// What is read with such keys proves nothing of who wrote it. It goes on until it is done, or the task is cancelled: a
    /// homeserver that cannot be reached is asked again.
    ///
    /// - Parameter recoveryKey: Of the backup, if its private key is not here yet.
    /// - Throws: `MatrixError` of code `invalidArgument` if there is no backup, or the key is not its; `badResponse` if the homeserver
    ///   refuses.
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
