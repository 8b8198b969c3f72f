import ArgumentParser
package import PusherProtocol

/// The application and its server according to one source: options, a context or the environment.
package struct Settings: Codable, Equatable, Sendable {
    package var host: String?
    package var cluster: String?
    package var port: Int?
    package var path: String?
    package var tls: Bool?
    package var caFile: String?
    /// A `PublicKeyPin` in text form.
    package var pin: String?
    /// The proxy URL; empty for none, whatever the environment says.
    package var proxy: String?
    package var authEndpoint: String?
    package var userAuthEndpoint: String?
    package var appID: String?
    package var key: String?
    package var secret: String?
    package var encryptionMasterKey: String?

    /// The source of the key.
    package var origin = Origin.options
    /// Ignored sources, which are for an application with another key.
    package var setAside: [Settings] = []

    /// The fields stored in a context.
    private enum CodingKeys: String, CodingKey {
        case host, cluster, port, path, tls, caFile, pin, proxy, authEndpoint, userAuthEndpoint, appID, key, secret
        case encryptionMasterKey
    }

    /// A source, for messages.
    package enum Origin: Equatable, Sendable {
        case options, variables, url, serve
        case context(String)
    }

    /// Merges settings from several sources, most important first.
    ///
    /// A source that names a server provides everything about that server: the port of a context is not combined with
    /// the host of an option. The same applies to an application: a secret for another key is ignored.
    package init(merging sources: [Settings]) {
        self.init()
        for source in sources where namesServer == false {
            port = port ?? source.port
            path = path ?? source.path
            tls = tls ?? source.tls
            proxy = proxy ?? source.proxy
            if caFile == nil, pin == nil { (caFile, pin) = (source.caFile, source.pin) }
            if source.host != nil { host = source.host } else { cluster = source.cluster }
        }
        let first = sources.first { $0.key != nil }
        (key, origin) = (first?.key, first?.origin ?? .options)
        setAside = sources.filter { $0.key != nil && $0.key != key }
        for source in sources where source.key == nil || source.key == key {
            appID = appID ?? source.appID
            secret = secret ?? source.secret
            encryptionMasterKey = encryptionMasterKey ?? source.encryptionMasterKey
            authEndpoint = authEndpoint ?? source.authEndpoint
            userAuthEndpoint = userAuthEndpoint ?? source.userAuthEndpoint
        }
    }

    package init() {}

    package var namesServer: Bool { host != nil || cluster != nil }

    /// Applies an address; its port, path and TLS only where nothing else specifies them.
    package mutating func take(_ address: HostAddress) {
        host = address.host
        port = port ?? address.port
        path = path ?? address.path
        tls = tls ?? address.usesTLS
    }
}

extension Settings {
    /// Returns a command line that reaches the server from anywhere, without options if none are needed.
    ///
    /// It contains no secret.
    package func commandLine(_ words: String...) -> String {
        let words = ["pusher-cli"] + words
        guard !isFoundWithoutOptions else { return words.joined(separator: " ") }
        let options = ["--host", serverName] + (usesTLS ? [] : ["--no-tls"]) + (key.map { ["--key", $0] } ?? [])
        return (words + options).map(Self.shellWord).joined(separator: " ")
    }

    private var isFoundWithoutOptions: Bool {
        guard let found = try? CredentialOptions.parse([]).settings() else { return false }
        return found.key == key && found.serverName == serverName && found.usesTLS == usesTLS
    }

    /// Quotes a text as one shell word.
    private static func shellWord(_ word: String) -> String {
        word.wholeMatch(of: #/[A-Za-z0-9_@%+=:,.\/\-]+/#) != nil ? word : "'\(word.replacing("'", with: #"'\''"#))'"
    }
}

/// A setting that a command requires.
package enum RequiredSetting {
    case key, appID, secret, encryptionMasterKey

    fileprivate func isGiven(in settings: Settings) -> Bool {
        switch self {
        case .key: settings.key != nil
        case .appID: settings.appID != nil
        case .secret: settings.secret != nil
        case .encryptionMasterKey: settings.encryptionMasterKey != nil
        }
    }

    fileprivate var name: String {
        switch self {
        case .key: "key"
        case .appID: "id"
        case .secret: "secret"
        case .encryptionMasterKey: "encryption master key"
        }
    }

    fileprivate var variable: String {
        switch self {
        case .key: "PUSHER_KEY"
        case .appID: "PUSHER_APP_ID"
        case .secret: "PUSHER_SECRET"
        case .encryptionMasterKey: "PUSHER_ENCRYPTION_MASTER_KEY"
        }
    }

    fileprivate var sources: String {
        switch self {
        case .key: "--key (or \(variable))"
        case .appID: "--app-id (or \(variable))"
        case .secret: "\(variable) (or --secret)"
        case .encryptionMasterKey: "\(variable) (or --encryption-master-key)"
        }
    }
}

extension Settings {
    /// Checks the settings that a client needs to access channels. An auth endpoint provides the rest.
    package func requireSubscribing(to channels: [String]) throws(CommandFailure) {
        let channels = channels.compactMap { try? ChannelName($0) }.filter(\.needsAuthorization)
        guard authEndpoint == nil, !channels.isEmpty else { return try require(.key) }
        try require(
            [.key, .secret] + (channels.contains { $0.kind == .encrypted } ? [.encryptionMasterKey] : []),
            or: "name an auth endpoint with --auth-endpoint, ")
    }

    /// Checks the settings that the HTTP API requires.
    package func requirePublishing(on channels: [String]) throws(CommandFailure) {
        let encrypts = channels.contains { (try? ChannelName($0))?.kind == .encrypted }
        try require([.key, .appID, .secret] + (encrypts ? [.encryptionMasterKey] : []))
    }

    /// Checks the settings that auth endpoints require.
    package func requireSigning(encrypts: Bool) throws(CommandFailure) {
        try require([.key, .secret] + (encrypts ? [.encryptionMasterKey] : []))
    }

    /// Reports all missing settings at once.
    package func require(_ settings: RequiredSetting...) throws(CommandFailure) { try require(settings) }

    /// - Parameter alternative: Another way out, including a comma and a space.
    private func require(_ settings: [RequiredSetting], or alternative: String = "") throws(CommandFailure) {
        let missing = settings.filter { !$0.isGiven(in: self) }
        guard !missing.isEmpty else { return }
        throw CommandFailure(
            .wrongUse,
            "the application's \(missing.map(\.name).inWords()) \(missing.count == 1 ? "is" : "are") missing: "
                + setAside.compactMap { whyUnused(missing, of: $0) }.map { $0 + "; " }.joined() + "give "
                + "\(missing.map(\.sources).inWords()), \(alternative)"
                + (missing.contains(.key)
                    ? "save a context (pusher-cli context add), or run pusher-cli serve on this machine"
                    : "or save it in a context (pusher-cli context add)"))
    }
}

extension Settings {
    /// Returns the reason why existing settings are ignored; `nil` if there are none.
    private func whyUnused(_ missing: [RequiredSetting], of source: Settings) -> String? {
        let given = missing.filter { $0.isGiven(in: source) }
        guard !given.isEmpty else { return nil }
        let (belong, are) = given.count == 1 ? ("belongs", "is") : ("belong", "are")
        let what =
            switch source.origin {
            case .variables: "\(given.map(\.variable).inWords()) \(belong) to the key in PUSHER_KEY"
            case .url: "the \(given.map(\.name).inWords()) in PUSHER_URL \(belong) to the key there"
            case .context(let name): "the \(given.map(\.name).inWords()) of the context “\(name)” \(belong) to its key"
            case .serve: "the \(given.map(\.name).inWords()) of the running serve \(belong) to its key"
            case .options: "the options \(belong) to another key"
            }
        return "\(what) and \(are) not used with \(keyInWords)"
    }

    private var keyInWords: String {
        switch origin {
        case .options: "--key \(key ?? "")"
        case .variables: "the key in PUSHER_KEY"
        case .url: "the key in PUSHER_URL"
        case .context(let name): "the key of the context “\(name)”"
        case .serve: "the key of the running serve"
        }
    }
}

extension [String] {
    /// Returns a list such as `a, b and c`.
    func inWords() -> String {
        count > 1 ? dropLast().joined(separator: ", ") + " and " + self[count - 1] : first ?? ""
    }
}
