package import JSONBytes

/// The key that opens a user's secret storage, and what account data say of it.
package struct RecoveryStorageKey: Sendable {
    package let id: String
    package let description: SecretStorageKeyDescription
    /// Whether the description says by what the key is known. Otherwise nothing new is stored under it.
    package let isChecked: Bool
    let key: SecretBytes

    package static let defaultKey = "m.secret_storage.default_key"
    static let descriptionPrefix = "m.secret_storage.key."

    /// What the user writes down.
    package var recoveryKey: String { RecoveryKey.text(of: key) }

    /// A new key.
    ///
    /// - Parameter passphrase: From which it is made, which takes half a second; nil for a random key.
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

    /// The key that opens the storage as it is.
    ///
    /// - Parameters:
    ///   - text: The recovery key, or the passphrase, which takes its time.
    ///   - accountData: Of a type; nil for one that is not there.
    /// - Throws: `missingField` if there is no storage, `wrongKey`, and what the description is refused for.
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
            // With a passphrase, whatever is no recovery key is one.
            guard let passphrase = description.passphrase else { throw error }
            key = try passphrase.key(text)
        }
        isChecked = try description.check(key) == .passed
        (self.id, self.description, self.key) = (id, description, key)
    }
}

/// What account data say of a user's secret storage.
package enum RecoveryStorageState: Sendable, Equatable {
    /// There is none.
    case none
    /// There is one whose key is described in a way that we do not know.
    case unknown
    /// - Parameters:
    ///   - hasPassphrase: Whether a passphrase opens it, beside the recovery key.
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

    /// The types of account data that are looked at, given the content of ``RecoveryStorageKey/defaultKey``.
    package static func types(_ named: JSONView?) -> [String] {
        (named?["key"]?.string.map { [RecoveryStorageKey.descriptionPrefix + $0] } ?? [])
            + SecretName.allCases.map(\.rawValue)
    }
}

/// Account data to be written.
package struct AccountDataChange: Sendable, Equatable {
    package let type: String
    package let content: JSONView
}

extension CryptoMachine {
    /// What makes a key that of the storage, with all secrets that are here under it.
    ///
    /// Written in this order, a write that fails leaves a storage that opens: the former one until the new key is named, and
    /// the new one from then on. At the end nothing is left that the former key opens.
    ///
    /// - Parameter accountData: As it is, by type; nil for one that is not there.
    /// - Throws: `untrusted` for a key that nothing is known by.
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
            // One that does not go with what is published is no use to anybody.
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

    /// Takes the secrets of the storage, each checked against its public half. With the master key's this device trusts the
    /// user's identity, and signs itself.
    ///
    /// - Returns: Those that are here now, and those that could not be taken.
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
    /// The content of a stored secret with an entry of another key beside its own.
    fileprivate func adding(_ keyID: String, _ entry: JSONView) -> JSONView {
        var keys = JSONWriter()
        for (id, own) in self["encrypted"]?.members ?? [] { keys.add(id, own) }
        keys.add(keyID, entry)
        var content = JSONWriter()
        content.add("encrypted", keys)
        return content.view
    }
}
