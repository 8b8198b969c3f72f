import JSONBytes
import MatrixEncryption
import MatrixProtocol

/// The user's secrets on the homeserver, encrypted: the private keys of cross-signing and of the backup of room keys. A
/// new device obtains them all with the recovery key, or the passphrase.
///
///     let recoveryKey = try await session.crypto?.recoveryService.createRecovery()   // for the user to write down
///     // On a new device:
///     let result = try await session.crypto?.recoveryService.recoverSecrets(with: text)
public final class MXRecoveryService: Sendable {
    /// The state of the user's recovery, as reported by the homeserver.
    @nonexhaustive
    public enum Status: Sendable, Hashable {
        /// Nothing is stored.
        case none
        /// Something is stored in a way that this library does not support.
        case unknown
        /// - Parameters:
        ///   - usesPassphrase: Whether a passphrase opens it as well as the recovery key.
        ///   - isWeak: Whether the homeserver's operator could try very many passphrases: create a new recovery.
        case available(usesPassphrase: Bool, isWeak: Bool)
    }

    /// The result of a recovery.
    public struct Result: Sendable, Hashable {
        /// Names of the secrets now available, such as `m.cross_signing.master`.
        public let recovered: [String]
        /// Names of stored secrets that were refused: damaged, or keys of something no longer in use.
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
    /// Deriving a key from a passphrase takes half a second.
    ///
    /// - Parameters:
    ///   - passphrase: Opens it as well as the recovery key; `nil` for none.
    ///   - isReplacement: Whether to replace what is stored: the former recovery key and passphrase then open nothing.
    ///   - show: Called with the recovery key before anything is stored under it, so a key shown here is not lost if
    ///     the program ends at any later moment. Its errors are rethrown, and nothing is changed.
    /// - Returns: The recovery key, for the user to write down. It is not kept.
    /// - Throws: `MatrixError` with code `invalidArgument` if something is stored and is not to be replaced, or if this
    ///   device lacks a secret, which would be lost; the server's error.
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
        // A separate task: if the caller cancels midway, it must get the key, or the former one must still open
        // everything.
        try await Task { [rest = core.rest] in
            do {
                for change in changes {
                    try await rest.setAccountData(
                        EncodedJSON(text: Array(change.content.compactText.utf8)), ofType: change.type)
                }
            } catch {
                // Once the new key is named, the user must get it, whatever failed afterwards.
                let named = try? await rest.accountData(ofType: RecoveryStorageKey.defaultKey)?["key"]?.string
                guard let named, named == storage.id else { throw error }
            }
        }.value
        return storage.recoveryKey
    }

    /// Recovers the stored secrets. The cross-signing key verifies this device; the backup's key enables
    /// ``MXKeyBackup/restore(withRecoveryKey:)``.
    ///
    /// - Parameter recoveryKey: The recovery key, or the passphrase, from which the key is derived: this takes half a
    ///   second, or as long as the homeserver demands, up to ten.
    /// - Throws: `MatrixError` with code `invalidArgument` if nothing is stored, or the key does not open it.
    @concurrent
    public func recoverSecrets(with recoveryKey: String) async throws -> Result {
        let data = try await stored()
        let storage: RecoveryStorageKey
        do throws(EncryptionError) {
            storage = try RecoveryStorageKey(opening: { data[$0] }, with: recoveryKey)
        } catch {
            throw MatrixError(.invalidArgument, "nothing was recovered: \(Self.reason(error))")
        }
        // Checking the secrets requires the keys and backup that they belong to.
        try await core.downloadKeys(of: [core.userId], isForced: true)
        try await MXKeyBackup(core).refreshState()
        let (taken, refused) = try core.cryptoCommand { machine, turn in
            try machine.takeSecrets(from: { data[$0] }, with: storage, &turn)
        }
        return Result(recovered: taken.map(\.rawValue), refused: refused.map(\.rawValue))
    }

    /// Returns the account data of the storage, by type.
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
