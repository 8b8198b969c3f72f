package import ArgumentParser
import PusherProtocol

/// The master key of encrypted channels, for commands that sign for them or publish on them.
package struct MasterKeyOption: ParsableArguments {
    @Option(
        help: """
            Base64 of 32 bytes, for encrypted channels when signing with the secret, and for publishing on them. \
            Prefer $PUSHER_ENCRYPTION_MASTER_KEY.
            """)
    package var encryptionMasterKey: String?

    package init() {}

    package func validate() throws {
        if let mistake = Self.mistake(encryptionMasterKey, in: "--encryption-master-key") {
            throw ValidationError("\(mistake).")
        }
    }

    /// The option with a warning; `nil` if there is none.
    package var given: String? { SecretOption.encryptionMasterKey.argument(encryptionMasterKey) }

    /// Returns the error of an invalid key, without the key itself; `nil` if it is valid.
    ///
    /// - Parameter source: The option or variable of the key.
    package static func mistake(_ text: String?, in source: String) -> String? {
        guard let text, EncryptionMasterKey(base64: text) == nil else { return nil }
        return "\(source) must be base64 of 32 bytes"
    }
}
