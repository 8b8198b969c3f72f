package import JSONBytes

/// The key of a user's secret storage, and its description in account data.
package struct RecoveryStorageKey: Sendable {
    package let id: String
    package let description: SecretStorageKeyDescription
    /// Whether the description allows the key to be checked. Otherwise nothing new is stored under it.
    package let isChecked: Bool
    let key: SecretBytes

    package static let defaultKey = "m.secret_storage.default_key"
    static let descriptionPrefix = "m.secret_storage.key."

    /// The recovery key for the user to write down.
    package var recoveryKey: String { RecoveryKey.text(of: key) }

    /// Creates a new key.
    ///
    /// - Parameter passphrase: The passphrase to derive it from, which takes half a second; `nil` for a random key.
    /// - Throws: `rounds`.
    package init(
        passphrase: String? = nil, iterations: Int = 500_000, random: RandomSource
    ) throws(EncryptionError) {
        id = random.text(32)
        if let passphrase {
            let derivation = PassphraseDerivation(random: random, iterations: iterations)
            key = try derivation.key(passphrase)
            description = SecretStorageKeyDescription(of: key, passphrase: derivation, random: random)
        } else {
            key = random.secret(32)
            description = SecretStorageKeyDescription(of: key, random: random)
        }
        isChecked = true
    }

    /// Opens the existing storage.
    ///
    /// - Parameters:
    ///   - text: The recovery key, or the passphrase, which takes longer.
    ///   - accountData: Returns the account data of a type; `nil` if there is none.
    /// - Throws: `missingField` if there is no storage, `wrongKey`, and the errors of reading the description.
    package init(
        opening accountData: (String) -> JSONView?, with text: String
    ) throws(EncryptionError) {
        guard let id = accountData(Self.defaultKey)?["key"]?.string, let json = accountData(Self.descriptionPrefix + id)
        else { throw .missingField }
        let description = try SecretStorageKeyDescription(json)
        let key: SecretBytes
        do throws(EncryptionError) {
            key = try RecoveryKey.key(text)
        } catch {
            // If there is a passphrase, anything that is not a recovery key is one.
            guard let passphrase = description.passphrase else { throw error }
            key = try passphrase.key(text)
        }
        isChecked = try description.check(key) == .passed
        (self.id, self.description, self.key) = (id, description, key)
    }
}

/// The state of a user's secret storage, from account data.
package enum RecoveryStorageState: Sendable, Equatable {
    /// There is no storage.
    case none
    /// The description of the storage's key is not supported.
    case unknown
    /// - Parameters:
    ///   - hasPassphrase: Whether a passphrase opens it, in addition to the recovery key.
    ///   - isWeak: Whether the server could try many passphrases.
    case some(hasPassphrase: Bool, isWeak: Bool)

    package init(_ accountData: (String) -> JSONView?) {
        guard let id = accountData(RecoveryStorageKey.defaultKey)?["key"]?.string else {
            self = .none
            return
        }
        guard let json = accountData(RecoveryStorageKey.descriptionPrefix + id),
            let description = try? SecretStorageKeyDescription(json)
        else {
            self = .unknown
            return
        }
        self = .some(hasPassphrase: description.passphrase != nil, isWeak: description.passphrase?.isWeak ?? false)
    }

    /// Returns the types of account data needed, given the content of ``RecoveryStorageKey/defaultKey``.
    package static func types(_ named: JSONView?) -> [String] {
        (named?["key"]?.string.map { [RecoveryStorageKey.descriptionPrefix + $0] } ?? [])
            + SecretName.allCases.map(\.rawValue)
    }
}

/// Account data to write.
package struct AccountDataChange: Sendable, Equatable {
    package let type: String
    package let content: JSONView
}

extension CryptoMachine {
    /// Returns the account data that make a key that of the storage, with all available secrets under it.
    ///
    /// Write them in this order. If a write fails, the storage can still be opened: with the former key until the new
    /// one is named, and with the new one from then on. At the end, the former key opens nothing any more.
    ///
    /// - Parameter accountData: Returns the current account data by type; `nil` if there is none.
    /// - Throws: `untrusted` if the key cannot be checked.
    package func storeSecrets(
        under storage: RecoveryStorageKey, replacing accountData: (String) -> JSONView? = { _ in nil },
        _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> [AccountDataChange] {
        guard storage.isChecked else { throw .untrusted }
        let former = accountData(RecoveryStorageKey.defaultKey)?["key"]?.string
        var changes = [
            AccountDataChange(
                type: RecoveryStorageKey.descriptionPrefix + storage.id, content: storage.description.json)
        ]
        var cleared: [AccountDataChange] = []
        for name in SecretName.allCases {
            // A secret that does not match the published key is of no use.
            guard let secret = try usableSecret(name, &turn) else { continue }
            let encrypted = EncryptedSecret(key: secret, name: name.rawValue, key: storage.key, random: turn.random)
            let content = encrypted.content(keyID: storage.id)
            if let former, former != storage.id, let entry = accountData(name.rawValue)?["encrypted"]?[former] {
                changes.append(AccountDataChange(type: name.rawValue, content: content.adding(former, entry)))
                cleared.append(AccountDataChange(type: name.rawValue, content: content))
            } else {
                changes.append(AccountDataChange(type: name.rawValue, content: content))
            }
        }
        var named = JSONWriter()
        named.add("key", storage.id)
        changes.append(AccountDataChange(type: RecoveryStorageKey.defaultKey, content: named.view))
        return changes + cleared
    }

    /// Reads the secrets of the storage, each checked against its public half. With the master key, this device trusts
    /// the user's identity and signs itself.
    ///
    /// - Returns: The secrets that are available now, and those that were refused.
    package mutating func takeSecrets(
        from accountData: (String) -> JSONView?, with storage: RecoveryStorageKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> (taken: [SecretName], refused: [SecretName]) {
        var (taken, refused): ([SecretName], [SecretName]) = ([], [])
        for name in SecretName.allCases {
            guard let content = accountData(name.rawValue) else { continue }
            do throws(EncryptionError) {
                let encrypted = try EncryptedSecret(in: content, keyID: storage.id)
                try take(encrypted.decryptKey(name: name.rawValue, key: storage.key), as: name, &turn)
                taken.append(name)
            } catch .store {
                throw .store
            } catch {
                refused.append(name)
            }
        }
        return (taken, refused)
    }
}

extension JSONView {
    /// Returns the content of a stored secret with an additional entry for another key.
    fileprivate func adding(_ keyID: String, _ entry: JSONView) -> JSONView {
        var keys = JSONWriter()
        for (id, own) in self["encrypted"]?.members ?? [] { keys.add(id, own) }
        keys.add(keyID, entry)
        var content = JSONWriter()
        content.add("encrypted", keys)
        return content.view
    }
}
