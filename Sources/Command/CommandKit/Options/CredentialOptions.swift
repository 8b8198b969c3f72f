package import ArgumentParser
import Basics
package import PusherHTTP
import PusherProtocol

/// Whose application it is, and what its signatures and keys are made with.
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

    /// What options, context and environment say together.
    ///
    /// - Parameter options: What the command's other options say.
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
                    // Nobody asked for the file, and it may not be needed.
                    let named = Settings(merging: sources)
                    guard named.key != nil, needsServer ? named.namesServer : named.secret != nil else { throw error }
                    StandardError.write("warning: \(error)")
                }
            }
        }
        return Settings(merging: sources)
    }

    /// The same with an encryption master key, for commands without other options of this kind.
    package func settings(_ masterKey: MasterKeyOption) throws(CommandFailure) -> Settings {
        var options = Settings()
        options.encryptionMasterKey = masterKey.given
        return try settings(options, needsServer: false)
    }

    /// - Parameter encrypts: Whether it is to sign for an encrypted channel, which it cannot without a master key.
    package func signer(_ masterKey: MasterKeyOption, encrypts: Bool = false) throws -> PusherSigner {
        let settings = try settings(masterKey)
        try settings.requireSigning(encrypts: encrypts)
        return PusherSigner(
            key: settings.key ?? "", secret: settings.secret ?? "",
            encryptionMasterKey: settings.encryptionMasterKey)
    }
}

/// A secret that may come as an argument, but should come from the environment.
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

    /// What the user has been warned of.
    private static let warned = Lock<Set<String>>([])

    /// The argument, with a warning; nil if there is none.
    package func argument(_ argument: String?) -> String? {
        guard let argument else { return nil }
        if Self.warned.withLock({ $0.insert(name).inserted }) {
            StandardError.write("warning: the process list shows \(name) to everyone; use \(variable) instead")
        }
        return argument
    }

    /// The argument, with a warning, or what the environment says.
    package func given(_ argument: String?) -> String? { self.argument(argument) ?? Environment[variable] }
}

/// `--key "$KEY"` without a `KEY`: what the context or the environment says instead may be of another application.
package enum EmptyValue {
    package static func refuse(_ options: (name: String, value: String?)...) throws {
        for (name, value) in options where value?.isEmpty == true { throw ValidationError("\(name) is empty.") }
    }
}
