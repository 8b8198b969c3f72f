package import ArgumentParser
import Basics
package import PusherHTTP
import PusherProtocol

/// The application and the keys for its signatures and encryption.
package struct CredentialOptions: ParsableArguments {
    @Option(
        help: """
            Use this context (see pusher-cli context). Default: $PUSHER_CONTEXT, else the one chosen with context use, \
            else a running serve, else the first one that was added.
            """,
        completion: .custom { _, _, _ in ContextName.known })
    package var context: String?

    @Option(help: "The application's key. Default: $PUSHER_KEY.")
    package var key: String?

    @Option(
        help: """
            The application's secret, to sign locally. Prefer $PUSHER_SECRET: the process list shows arguments.
            """)
    package var secret: String?

    package init() {}

    package func validate() throws {
        try EmptyValue.refuse(("--key", key), ("--secret", secret))
    }

    /// Returns the settings from options, context and environment.
    ///
    /// - Parameter options: Settings from the command's other options.
    /// - Parameter needsServer: Whether the command connects to the application's server.
    package func settings(_ options: Settings = Settings(), needsServer: Bool = true) throws(CommandFailure) -> Settings
    {
        var options = options
        options.key = key
        options.secret = SecretOption.secret.argument(secret)
        var sources = [options]
        if let context { sources.append(try ContextFile().context(named: context)) }
        sources.append(try Settings.ofEnvironment())
        if let url = try Settings.ofURLVariable() { sources.append(url) }
        if context == nil {
            if let name = Environment["PUSHER_CONTEXT"] {
                sources.append(try ContextFile().context(named: name))
            } else {
                do throws(CommandFailure) {
                    if let found = try ContextFile().current() { sources.append(found) }
                } catch {
                    // The file was not requested and may not be needed.
                    let named = Settings(merging: sources)
                    guard named.key != nil, needsServer ? named.namesServer : named.secret != nil else { throw error }
                    StandardError.write("warning: \(error)")
                }
            }
        }
        return Settings(merging: sources)
    }

    /// Returns the settings with an encryption master key, for commands without other options of this kind.
    package func settings(_ masterKey: MasterKeyOption) throws(CommandFailure) -> Settings {
        var options = Settings()
        options.encryptionMasterKey = masterKey.given
        return try settings(options, needsServer: false)
    }

    /// - Parameter encrypts: Whether it signs for an encrypted channel, which requires a master key.
    package func signer(_ masterKey: MasterKeyOption, encrypts: Bool = false) throws -> PusherSigner {
        let settings = try settings(masterKey)
        try settings.requireSigning(encrypts: encrypts)
        return PusherSigner(
            key: settings.key ?? "", secret: settings.secret ?? "",
            encryptionMasterKey: settings.encryptionMasterKey)
    }
}

/// A secret that can be an argument, but should come from the environment.
package struct SecretOption {
    package static let secret = SecretOption(name: "--secret", variable: "PUSHER_SECRET")
    package static let encryptionMasterKey = SecretOption(
        name: "--encryption-master-key", variable: "PUSHER_ENCRYPTION_MASTER_KEY")

    package let name: String
    package let variable: String

    package init(name: String, variable: String) {
        (self.name, self.variable) = (name, variable)
    }

    package var names: String { "\(name) (or \(variable))" }

    /// The warnings given so far.
    private static let warned = Lock<Set<String>>([])

    /// Returns the argument and warns; `nil` if there is none.
    package func argument(_ argument: String?) -> String? {
        guard let argument else { return nil }
        if Self.warned.withLock({ $0.insert(name).inserted }) {
            StandardError.write("warning: the process list shows \(name) to everyone; use \(variable) instead")
        }
        return argument
    }

    /// Returns the argument with a warning, or the value from the environment.
    package func given(_ argument: String?) -> String? { self.argument(argument) ?? Environment[variable] }
}

/// `--key "$KEY"` without a `KEY`: the value from the context or the environment may belong to another application.
package enum EmptyValue {
    package static func refuse(_ options: (name: String, value: String?)...) throws {
        for (name, value) in options where value?.isEmpty == true { throw ValidationError("\(name) is empty.") }
    }
}
