import ArgumentParser
import CommandKit
import PusherProtocol

/// An encrypted channel and its key.
struct ChannelKeyOptions: ParsableArguments {
    @Argument(help: "The channel; its name starts with private-encrypted-.")
    var channel: String

    @Option(
        help: "The channel's own key, base64 of 32 bytes, instead of the master key. Prefer $PUSHER_SHARED_SECRET.")
    var sharedSecret: String?

    @Option(help: "Base64 of 32 bytes, from which the channel's key is derived. Prefer $PUSHER_ENCRYPTION_MASTER_KEY.")
    var encryptionMasterKey: String?

    func validate() throws {
        guard sharedSecret == nil || encryptionMasterKey == nil else {
            throw ValidationError("--shared-secret and --encryption-master-key cannot be used together.")
        }
    }

    /// Returns the key, or throws if it is missing or invalid.
    func key() throws -> ChannelKey {
        let name = try NameArguments.channel(channel)
        guard name.kind == .encrypted else {
            throw ValidationError(
                "“\(channel)” is not an encrypted channel: its name must start with private-encrypted-.")
        }
        let masterKey = SecretOption.encryptionMasterKey
        let secret = SecretOption(name: "--shared-secret", variable: "PUSHER_SHARED_SECRET")
        // An argument overrides the environment.
        if let text = encryptionMasterKey == nil ? secret.given(sharedSecret) : nil {
            guard let key = ChannelKey(base64: text) else {
                throw ValidationError("\(secret.names) must be base64 of 32 bytes.")
            }
            return key
        }
        guard let text = masterKey.given(encryptionMasterKey) else {
            throw CommandFailure(.wrongUse, "give a key with PUSHER_ENCRYPTION_MASTER_KEY or PUSHER_SHARED_SECRET")
        }
        guard let key = EncryptionMasterKey(base64: text) else {
            throw ValidationError("\(masterKey.names) must be base64 of 32 bytes.")
        }
        return key.key(of: name)
    }
}
