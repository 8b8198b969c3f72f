import ArgumentParser
import PusherProtocol

/// Which application, and where, as far as one source says it: options, a context, the environment.
struct Settings: Codable, Equatable, Sendable {
    var host: String?
    var cluster: String?
    var port: Int?
    var path: String?
    var tls: Bool?
    var caFile: String?
    /// A `PublicKeyPin` as text.
    var pin: String?
    var authEndpoint: String?
    var userAuthEndpoint: String?
    var appID: String?
    var key: String?
    var secret: String?
    var encryptionMasterKey: String?

    /// What several sources say together, the first being the most important.
    ///
    /// A source that names a server brings all that belongs to that server: the port of a context is not used with the host
    /// of an option. The same holds for an application: a secret that belongs to another key is not used.
    init(merging sources: [Settings]) {
        self.init()
        for source in sources where namesServer == false {
            port = port ?? source.port
            path = path ?? source.path
            tls = tls ?? source.tls
            if caFile == nil, pin == nil { (caFile, pin) = (source.caFile, source.pin) }
            if source.host != nil { host = source.host } else { cluster = source.cluster }
        }
        key = sources.lazy.compactMap(\.key).first
        for source in sources where source.key == nil || source.key == key {
            appID = appID ?? source.appID
            secret = secret ?? source.secret
            encryptionMasterKey = encryptionMasterKey ?? source.encryptionMasterKey
            authEndpoint = authEndpoint ?? source.authEndpoint
            userAuthEndpoint = userAuthEndpoint ?? source.userAuthEndpoint
        }
    }

    init() {}

    private var namesServer: Bool { host != nil || cluster != nil }

    /// Takes what an address says; port, path and TLS only where nothing else says them.
    mutating func take(_ address: ServerAddress) {
        host = address.host
        port = port ?? address.port
        path = path ?? address.path
        tls = tls ?? address.usesTLS
    }
}

extension Settings {
    /// A command line that reaches the server from anywhere; without options if this one would be found without.
    ///
    /// It holds no secret.
    func commandLine(_ words: String...) -> String {
        let words = ["pusher-cli"] + words
        guard !isFoundWithoutOptions else { return words.joined(separator: " ") }
        let options = ["--host", serverName] + (usesTLS ? [] : ["--no-tls"]) + (key.map { ["--key", $0] } ?? [])
        return (words + options).map(Self.shellWord).joined(separator: " ")
    }

    private var isFoundWithoutOptions: Bool {
        guard let found = try? CredentialOptions.parse([]).settings() else { return false }
        return found.key == key && found.serverName == serverName && found.usesTLS == usesTLS
    }

    /// As a shell takes it for one word.
    private static func shellWord(_ word: String) -> String {
        word.wholeMatch(of: #/[A-Za-z0-9_@%+=:,.\/\-]+/#) != nil ? word : "'\(word.replacing("'", with: #"'\''"#))'"
    }
}

/// What a command cannot do without.
enum RequiredSetting: CaseIterable {
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

    fileprivate var sources: String {
        switch self {
        case .key: "--key (or PUSHER_KEY)"
        case .appID: "--app-id (or PUSHER_APP_ID)"
        case .secret: "PUSHER_SECRET (or --secret)"
        case .encryptionMasterKey: "PUSHER_ENCRYPTION_MASTER_KEY (or --encryption-master-key)"
        }
    }
}

extension Settings {
    /// What a client cannot do without that is let into channels; an auth endpoint knows the rest.
    func requireSubscribing(to channels: [String]) throws(CommandFailure) {
        let channels = channels.compactMap { try? ChannelName($0) }.filter(\.needsAuthorization)
        guard authEndpoint == nil, !channels.isEmpty else { return try require(.key) }
        try require(
            [.key, .secret] + (channels.contains { $0.kind == .encrypted } ? [.encryptionMasterKey] : []),
            or: "name an auth endpoint with --auth-endpoint, ")
    }

    /// What the HTTP API cannot do without.
    func requirePublishing(on channels: [String]) throws(CommandFailure) {
        let encrypts = channels.contains { (try? ChannelName($0))?.kind == .encrypted }
        try require([.key, .appID, .secret] + (encrypts ? [.encryptionMasterKey] : []))
    }

    /// Says all that is missing at once.
    func require(_ settings: RequiredSetting...) throws(CommandFailure) { try require(settings) }

    /// - Parameter alternative: What else helps, with a comma and a space.
    private func require(_ settings: [RequiredSetting], or alternative: String = "") throws(CommandFailure) {
        let missing = settings.filter { !$0.isGiven(in: self) }
        guard !missing.isEmpty else { return }
        throw CommandFailure(
            .wrongUse,
            "the application's \(missing.map(\.name).inWords()) \(missing.count == 1 ? "is" : "are") missing: give "
                + "\(missing.map(\.sources).inWords()), \(alternative)save a context (pusher-cli context add), or run "
                + "pusher-cli serve on this machine")
    }
}

extension [String] {
    /// `a, b and c`
    func inWords() -> String {
        count > 1 ? dropLast().joined(separator: ", ") + " and " + self[count - 1] : first ?? ""
    }
}
