/// Secrets that the devices of a user share, by their names in account data.
package enum SecretName: String, Sendable, CaseIterable {
    case master = "m.cross_signing.master"
    case selfSigning = "m.cross_signing.self_signing"
    case userSigning = "m.cross_signing.user_signing"
    case backup = "m.megolm_backup.v1"

    package init(_ usage: CrossSigningUsage) {
        self =
            switch usage {
            case .master: .master
            case .selfSigning: .selfSigning
            case .userSigning: .userSigning
            }
    }

    /// The usage of the key; `nil` for the key of the backup.
    package var usage: CrossSigningUsage? {
        switch self {
        case .master: .master
        case .selfSigning: .selfSigning
        case .userSigning: .userSigning
        case .backup: nil
        }
    }
}

/// The private half of a key: 32 bytes.
struct SecretRecord: Record, Equatable {
    static let kind = RecordKind.secret
    private static let version: UInt8 = 1
    /// The scope of secrets whose public halves may not be on the server yet.
    static let new = "new"

    let secret: SecretBytes

    init(_ secret: SecretBytes) { self.secret = secret }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(secret)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        secret = try reader.secret()
        guard secret.count == 32 else { throw .state }
        try reader.end()
    }
}
