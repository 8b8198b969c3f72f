import ArgumentParser
import CommandKit
import Foundation

struct ContextCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "context", abstract: "Save applications and their servers, to use them by name.",
        discussion: """
            A context stores what the options say: server, application, secret, endpoints. The first context that you \
            add becomes the one in use, but a running pusher-cli serve comes first until you choose a context with \
            pusher-cli context use. Contexts are stored in ~/.config/pusher-cli/contexts.json (or under \
            XDG_CONFIG_HOME), which only you can read.

            Examples:
              pusher-cli context add local --host 127.0.0.1:6001 --no-tls \\
                --key app-key --app-id 1 --secret -
              pusher-cli context use local
              pusher-cli subscribe prices --context staging
            """,
        subcommands: [
            ContextAddCommand.self, ContextUseCommand.self, ContextListCommand.self, ContextShowCommand.self,
            ContextRemoveCommand.self,
        ])
}

struct ContextAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a context, or replace one with --force.",
        discussion: """
            --secret - asks for the secret at the terminal, or reads it from standard input. The environment stands in \
            for options that you omit, except for what belongs to an application with another key.

            Example:
              pusher-cli context add local --host 127.0.0.1:6001 --no-tls \\
                --key app-key --app-id 1 --secret -
            """)

    @OptionGroup var name: ContextName
    @OptionGroup var address: AddressOptions
    @OptionGroup var network: NetworkArguments
    @OptionGroup var application: ApplicationOptions

    @Option(help: "The application's key.")
    var key: String

    @Option(help: "The application's secret; - asks for it, or reads it from standard input. Default: $PUSHER_SECRET.")
    var secret: String?

    @Option(
        help: "Base64 of 32 bytes, for encrypted channels; - asks for it. Default: $PUSHER_ENCRYPTION_MASTER_KEY.")
    var encryptionMasterKey: String?

    @Option(help: "URL of the auth endpoint for private and presence channels.")
    var authEndpoint: String?

    @Option(help: "URL of the auth endpoint for users who sign in.")
    var userAuthEndpoint: String?

    @Flag(help: "Replace an existing context of this name.")
    var force = false

    func validate() throws {
        try EmptyValue.refuse(("--key", key))
        guard secret != "-" || encryptionMasterKey != "-" || isatty(STDIN_FILENO) == 1 else {
            throw ValidationError("--secret - and --encryption-master-key - cannot both read standard input.")
        }
    }

    func run() async throws {
        var options = try address.settings(network)
        (options.key, options.appID) = (key, application.appId)
        (options.authEndpoint, options.userAuthEndpoint) = (authEndpoint, userAuthEndpoint)
        options.secret = try given(secret, .secret, "secret")
        options.encryptionMasterKey = try given(encryptionMasterKey, .encryptionMasterKey, "encryption master key")
        let environment = [try Settings.ofEnvironment(), try Settings.ofURLVariable()]
        let context = Settings(merging: [options] + environment.compactMap(\.self))
        if let mistake = MasterKeyOption.mistake(context.encryptionMasterKey, in: "--encryption-master-key") {
            throw ValidationError("\(mistake).")
        }
        try context.checkTrust()
        var current = (name: "", isChosen: true)
        try ContextFile().change { (contents) throws(CommandFailure) in
            guard force || contents.contexts[name.name] == nil else {
                throw CommandFailure(.badData, "the context “\(name.name)” already exists: --force replaces it")
            }
            contents.contexts[name.name] = context
            if contents.current == nil { (contents.current, contents.isChosen) = (name.name, false) }
            current = (contents.current ?? "", contents.isChosen != false)
        }
        let serve = current.isChosen ? nil : ServedApplication.current()
        let hint: TerminalText = "pusher-cli context use \(name.name) switches to this one"
        if let serve {
            StandardError.write("commands use the running serve at \(serve.serverName); \(hint)")
        } else if current.name == name.name {
            StandardError.write("the context in use is “\(name.name)”: \(context.serverName)")
        } else {
            StandardError.write("the context in use is still “\(current.name)”; \(hint)")
        }
    }

    private func given(_ argument: String?, _ option: SecretOption, _ what: String) throws -> String? {
        guard argument == "-" else { return option.argument(argument) }
        let secret =
            isatty(STDIN_FILENO) == 1
            ? try SecretInput.typed("The \(what): ", what: what) : try SecretInput.fromStandardInput(what)
        guard let secret else { throw CommandFailure.interrupted }
        return secret
    }
}

struct ContextUseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "use", abstract: "Use a context by default.",
        discussion: """
            Example:
              pusher-cli context use local
            """)

    @OptionGroup var name: ContextName

    func run() async throws {
        try ContextFile().change { (contents) throws(CommandFailure) in
            guard contents.contexts[name.name] != nil else { throw ContextFile.unknown(name.name, contents) }
            (contents.current, contents.isChosen) = (name.name, true)
        }
    }
}

struct ContextListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the contexts; * marks the one in use.",
        discussion: """
            Example:
              pusher-cli context list --json
            """)

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let contents = try ContextFile().load()
        let contexts = contents.contexts.sorted { $0.key < $1.key }
        // A running serve takes precedence over a context that the user did not choose.
        let current = contents.isChosen == false && ServedApplication.current() != nil ? nil : contents.current
        _ = output.write(
            contexts.map { ContextRecord(name: $0.key, context: $0.value, isCurrent: $0.key == current) },
            none: "there are no contexts: create one with pusher-cli context add")
    }
}

struct ContextShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a context; for secrets, only whether they are set.",
        discussion: """
            Without NAME, shows the context in use.

            Example:
              pusher-cli context show local
            """)

    @Argument(
        help: "The context's name. Default: the one in use.", completion: .custom { _, _, _ in ContextName.known })
    var name: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let contents = try ContextFile().load()
        guard let name = name ?? contents.current else {
            throw CommandFailure(.wrongUse, "no context is in use: pusher-cli context use NAME")
        }
        guard let context = contents.contexts[name] else { throw ContextFile.unknown(name, contents) }
        let record = ContextRecord(name: name, context: context, isCurrent: name == contents.current)
        if json {
            _ = StandardOutput.write(json: record.json)
        } else {
            for line in record.details where !StandardOutput.write(line) { return }
        }
    }
}

struct ContextRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a context and its secret.",
        discussion: """
            Example:
              pusher-cli context remove local
            """)

    @OptionGroup var name: ContextName

    func run() async throws {
        try ContextFile().change { (contents) throws(CommandFailure) in
            guard contents.contexts.removeValue(forKey: name.name) != nil else {
                throw ContextFile.unknown(name.name, contents)
            }
            if contents.current == name.name { (contents.current, contents.isChosen) = (nil, nil) }
        }
    }
}
