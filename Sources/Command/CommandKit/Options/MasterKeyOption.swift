package import ArgumentParser
import PusherProtocol

/// The key of the keys of encrypted channels, for commands that sign for them or publish on them.
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

    /// The option, with a warning; nil if there is none.
    package var given: String? { SecretOption.encryptionMasterKey.argument(encryptionMasterKey) }

    /// What cannot be used of a text, without the text; nil if it is a key.
    ///
    /// - Parameter source: The option or the variable that it comes from.
    package static func mistake(_ text: String?, in source: String) -> String? {
        guard let text, EncryptionMasterKey(base64: text) == nil else { return nil }
        return "\(source) must be base64 of 32 bytes"
    }
}
