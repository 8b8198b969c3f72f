import JSONBytes
import MatrixEncryption
import MatrixProtocol

/// The user's secrets on the homeserver, encrypted: the private keys of cross-signing and of the backup of room keys. A new
/// device that is given the recovery key, or the passphrase, has them all.
///
///     let recoveryKey = try await session.crypto?.recoveryService.createRecovery()   // for the user to write down
///     // On a new device:
///     let result = try await session.crypto?.recoveryService.recoverSecrets(with: text)
public final class MXRecoveryService: Sendable {
    /// What the homeserver says of the user's recovery.
    @nonexhaustive
    public enum Status: Sendable, Hashable {
        /// Nothing is stored.
        case none
        /// Something is stored in a way that this library does not know.
        case unknown
        /// - Parameters:
        ///   - usesPassphrase: Whether a passphrase opens it, beside the recovery key.
        ///   - isWeak: Whether whoever runs the homeserver could try very many passphrases: make a new recovery.
        case available(usesPassphrase: Bool, isWeak: Bool)
    }

    /// What was recovered.
    public struct Result: Sendable, Hashable {
        /// Names of the secrets that are here now, such as `m.cross_signing.master`.
        public let recovered: [String]
        /// Those that are stored and could not be taken: damaged, or keys of something that is not in use any more.
        public let refused: [String]
    }

    private let core: SessionCore
    package var rest: MXRestClient { core.rest }

    init(_ core: SessionCore) { self.core = core }

    /// Asks the homeserver whether there is something to recover from.
    public func status() async throws -> Status {
        let data = try await stored()
        return switch RecoveryStorageState({ data[$0] }) {
        case .none: .none
        case .unknown: .unknown
        case .some(let hasPassphrase, let isWeak): .available(usesPassphrase: hasPassphrase, isWeak: isWeak)
        }
    }

    /// Stores the secrets of this device under a new key.
    ///
    /// Making a key from a passphrase takes half a second.
    ///
    /// - Parameters:
    ///   - passphrase: Opens it, beside the recovery key; nil for none.
    ///   - isReplacement: Takes the place of what is stored: the former recovery key and passphrase open nothing any more.
    ///   - show: Given the recovery key before anything is stored under it: what a program shows here is not lost if the program
    ///     ends at any moment after. What it throws is thrown, and nothing is changed.
    /// - Returns: The recovery key, for the user to write down. It is not kept.
    /// - Throws: `MatrixError` of code `invalidArgument` if something is stored and is not to be replaced, or if this device
    ///   lacks a secret, which would be lost; what the homeserver says.
    @concurrent
    public func createRecovery(
        withPassphrase passphrase: String? = nil, isReplacement: Bool = false,
        showing show: @Sendable (_ recoveryKey: String) async throws -> Void = { _ in }
    ) async throws -> String {
        if let passphrase, passphrase.isEmpty { throw MatrixError(.invalidArgument, "the passphrase is empty") }
        let data = try await stored()
        guard isReplacement || RecoveryStorageState({ data[$0] }) == .none else {
            throw MatrixError(.invalidArgument, "there is a recovery already: nothing was changed")
        }
        try await MXKeyBackup(core).refreshState()
        let storage: RecoveryStorageKey
        do throws(EncryptionError) {
            storage = try RecoveryStorageKey(passphrase: passphrase, random: .system)
        } catch {
            throw MatrixError(.invalidArgument, "no key can be made from this passphrase")
        }
        let changes = try core.encryption { machine, turn, _, _ in
            guard try machine.ownIdentity(&turn) == .complete else { throw MatrixError.incompleteIdentity }
            let hasBackup = try machine.backupState(&turn) != .none
            guard try !hasBackup || machine.hasBackupKey(&turn) else { throw MatrixError.incompleteBackup }
            return try machine.storeSecrets(under: storage, replacing: { data[$0] }, &turn)
        }
        try await show(storage.recoveryKey)
        // In a task of its own: whoever gives up in the middle must have the key, or the former one must open all.
        try await Task { [rest = core.rest] in
            do {
                for change in changes {
                    try await rest.setAccountData(
                        EncodedJSON(text: Array(change.content.compactText.utf8)), ofType: change.type)
                }
            } catch {
                // Once the new key is named, the user must have it, whatever has failed then.
                let named = try? await rest.accountData(ofType: RecoveryStorageKey.defaultKey)?["key"]?.string
                guard let named, named == storage.id else { throw error }
            }
        }.value
        return storage.recoveryKey
    }

    /// Takes what is stored. With the key of cross-signing this device is verified, with that of the backup
    /// ``MXKeyBackup/restore(withRecoveryKey:)`` works.
    ///
    /// - Parameter recoveryKey: Or the passphrase, of which the key is made: half a second, or what the homeserver says that it
    ///   takes, up to ten.
    /// - Throws: `MatrixError` of code `invalidArgument` if nothing is stored, or it does not open.
    @concurrent
    public func recoverSecrets(with recoveryKey: String) async throws -> Result {
        let data = try await stored()
        let storage: RecoveryStorageKey
        do throws(EncryptionError) {
            storage = try RecoveryStorageKey(opening: { data[$0] }, with: recoveryKey)
        } catch {
            throw MatrixError(.invalidArgument, "nothing was recovered: \(Self.reason(error))")
        }
        // What the secrets belong to must be known, to know that they do.
        try await core.downloadKeys(of: [core.userId], isForced: true)
        try await MXKeyBackup(core).refreshState()
        let (taken, refused) = try core.cryptoCommand { machine, turn in
            try machine.takeSecrets(from: { data[$0] }, with: storage, &turn)
        }
        return Result(recovered: taken.map(\.rawValue), refused: refused.map(\.rawValue))
    }

    /// Account data of the storage, by type.
    private func stored() async throws -> [String: JSONView] {
        var data: [String: JSONView] = [:]
        data[RecoveryStorageKey.defaultKey] = try await core.rest.accountData(ofType: RecoveryStorageKey.defaultKey)
        for type in RecoveryStorageState.types(data[RecoveryStorageKey.defaultKey]) {
            data[type] = try await core.rest.accountData(ofType: type)
        }
        return data
    }

    static func key(fromRecoveryKey text: String) throws(MatrixError) -> SecretBytes {
        do throws(EncryptionError) {
            return try RecoveryKey.key(text)
        } catch {
            throw MatrixError(.invalidArgument, "nothing was restored: \(reason(error))")
        }
    }

    private static func reason(_ error: EncryptionError) -> String {
        switch error {
        case .missingField: "the homeserver has nothing to recover from"
        case .wrongKey: "it is not the right recovery key or passphrase"
        case .parity: "the recovery key has a typing error"
        case .base58, .length, .prefix: "this is not a recovery key"
        case .rounds: "the homeserver wants the passphrase to be worked on for too long"
        case .passphrase, .algorithm: "it is stored in a way that this library does not know"
        default: "what the homeserver has is damaged"
        }
    }
}

extension MatrixError {
    fileprivate static let incompleteIdentity = MatrixError(
        .invalidArgument,
        """
        this device does not have the user's cross-signing keys, which would be lost: make them, or verify this device with \
        another one, then try again; nothing was changed
        """)
    fileprivate static let incompleteBackup = MatrixError(
        .invalidArgument,
        """
        this device does not have the key of the backup of keys, which would be lost: restore it, or replace the backup, then \
        try again; nothing was changed
        """)
}
