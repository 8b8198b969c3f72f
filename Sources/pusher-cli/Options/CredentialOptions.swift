import ArgumentParser
import PusherHTTP
import Basics

/// Whose application it is, and what its signatures and keys are made with.
struct CredentialOptions: ParsableArguments {
    @Option(help: "The application's key. Default: $PUSHER_KEY.")
    var key: String?

    @Option(
        help: "The application's secret, to sign locally. Better $PUSHER_SECRET: arguments show in the process list.")
    var secret: String?

    @Option(
        help: """
            Base64 of 32 bytes, for encrypted channels when signing with the secret, and for publishing on them. Better \
            $PUSHER_ENCRYPTION_MASTER_KEY.
            """)
    var encryptionMasterKey: String?

    /// The key, or wrong use.
    func requireKey() throws -> String {
        guard let key = key ?? Environment["PUSHER_KEY"], !key.isEmpty else {
            throw ValidationError("Give the application's key with --key or PUSHER_KEY.")
        }
        return key
    }

    /// The secret, or wrong use.
    func requireSecret() throws -> String {
        guard let secret = secretGiven, !secret.isEmpty else {
            throw ValidationError("Give the application's secret with PUSHER_SECRET (or --secret).")
        }
        return secret
    }

    /// The secret from the argument, with a warning, or from the environment.
    var secretGiven: String? {
        SecretOption.secret.given(secret)
    }

    /// The master key from the argument, with a warning, or from the environment.
    var encryptionMasterKeyGiven: String? {
        SecretOption.encryptionMasterKey.given(encryptionMasterKey)
    }

    func signer() throws -> PusherSigner {
        PusherSigner(
            key: try requireKey(), secret: try requireSecret(), encryptionMasterKey: encryptionMasterKeyGiven)
    }
}

/// A secret that may come as an argument, but should come from the environment.
struct SecretOption {
    static let secret = SecretOption(name: "--secret", variable: "PUSHER_SECRET")
    static let encryptionMasterKey = SecretOption(
        name: "--encryption-master-key", variable: "PUSHER_ENCRYPTION_MASTER_KEY")

    let name: String
    let variable: String

    /// What the user has been warned of.
    private static let warned = Lock<Set<String>>([])

    func given(_ argument: String?) -> String? {
        guard let argument else { return Environment[variable] }
        guard Self.warned.withLock({ $0.insert(name).inserted }) else { return argument }
        StandardError.write("warning: the process list shows \(name) to everyone; use \(variable) instead")
        return argument
    }
}
