import JSONBytes

/// The server's backup.
struct BackupRecord: Record, Equatable {
    static let kind = RecordKind.backup
    private static let version: UInt8 = 1

    /// The current backup; `nil` if there is none.
    let current: Current?

    struct Current: Sendable, Equatable {
        let version: String
        /// The authentication data; `nil` if this library does not support its kind.
        let authData: KeyBackupAuthData?
    }

    init(_ current: Current?) { self.current = current }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(current) { writer, current in
            writer.append(current.version)
            writer.append(current.authData) { $0.append($1.json.compactText) }
        }
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        current = try reader.optional { reader throws(EncryptionError) in
            let version = try reader.text()
            let authData = try reader.optional { reader throws(EncryptionError) in
                guard let json = JSONView(Array(try reader.text().utf8)) else { throw .state }
                return try KeyBackupAuthData(json)
            }
            return Current(version: version, authData: authData)
        }
        try reader.end()
    }
}
