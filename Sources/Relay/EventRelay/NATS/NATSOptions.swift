/// Who one is to a NATS server. Printing it shows no secret.
@nonexhaustive
public enum NATSCredentials: Hashable, Sendable {
    /// A `.creds` file with a JWT and its seed. It is read anew at each reconnect.
    case file(String)
    /// A user and a password.
    case user(String, password: String)
    /// A token.
    case token(String)
    /// A public key (`U…`), and the file that holds its seed.
    case nkey(String, seedFile: String)

    /// What holds the seed that signs what a server sends at login.
    var seedFile: String? {
        switch self {
        case .file(let path), .nkey(_, seedFile: let path): path
        case .user, .token: nil
        }
    }
}

extension NATSCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind, and never a secret.
    public var description: String {
        switch self {
        case .file: "credentials file"
        case .user: "user and password"
        case .token: "token"
        case .nkey: "nkey"
        }
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Where the servers of a NATS cluster are, and how to connect to them.
///
///     let options = try NATSOptions("tls://nats1.example.org,tls://nats2.example.org")
///
/// TLS is required, and certificates are checked, as soon as a URL says `tls://`, TLS has a setting, or a server is not on
/// this machine. Credentials that stand in a URL are moved to ``credentials``: what is printed has none.
public struct NATSOptions: Hashable, Sendable {
    /// Settings of TLS.
    public struct TLS: Hashable, Sendable {
        /// A PEM file with the authorities to trust; nil for those of the system.
        public var authorityFile: String?
        /// PEM files of the client's own certificate and its key.
        public var certificate: Certificate?
        /// The name that the certificates of all servers must have; nil for the name in the URL.
        public var expectedHostName: String?

        /// PEM files.
        public struct Certificate: Hashable, Sendable {
            /// The certificate, followed by those that link it to an authority.
            public var file: String
            /// Its private key.
            public var keyFile: String

            /// See the properties.
            public init(file: String, keyFile: String) { (self.file, self.keyFile) = (file, keyFile) }
        }

        /// See the properties.
        public init(
            authorityFile: String? = nil, certificate: Certificate? = nil, expectedHostName: String? = nil
        ) {
            (self.authorityFile, self.certificate) = (authorityFile, certificate)
            self.expectedHostName = expectedHostName
        }
    }

    /// At least one.
    let servers: [NATSServerAddress]
    /// Nil for servers that ask for none.
    public var credentials: NATSCredentials?
    /// Nil for the defaults; see the type for when TLS is used.
    public var tls: TLS?
    /// Sends everything in clear, passwords included, to servers on other machines whose URL is not `tls://`.
    public var allowsPlaintext = false
    /// What the subjects of answers begin with. Give each role its own, with the permission to subscribe to it: users with the
    /// same prefix can read each other's answers.
    public var inboxPrefix = "_INBOX"
    /// What the server shows of this client.
    public var name = "EventRelay"
    /// Whether what is published is written at once. Otherwise libnats collects it for a millisecond.
    var writesAtOnce = false
    /// Whether servers that the cluster tells of are used beside ``serverURLs``. Leave it off where certificates or addresses
    /// inside differ from those outside.
    public var followsDiscoveredServers = false

    /// - Parameter urls: One or more URLs, separated by commas: `nats://host:4222`, `tls://host`. The scheme may be missing.
    public init(_ urls: String) throws(NATSError) {
        try self.init(urls: urls.split(separator: ",").map { $0.trimmingPrefix { $0 == " " }.description })
    }

    /// - Parameter urls: One or more: `nats://host:4222`, `tls://host`. The scheme may be missing.
    public init(urls: [String]) throws(NATSError) {
        guard !urls.isEmpty else { throw NATSError(.invalidArgument, "there is no URL of a NATS server") }
        var servers: [NATSServerAddress] = []
        for url in urls {
            let (server, credentials) = try NATSServerAddress.parse(url)
            servers.append(server)
            guard let credentials else { continue }
            guard self.credentials == nil || self.credentials == credentials else {
                throw NATSError(.invalidArgument, "the URLs of the NATS servers have different credentials")
            }
            self.credentials = credentials
        }
        self.servers = servers
    }

    /// The servers, without credentials.
    public var serverURLs: [String] { servers.map(\.url) }

    /// Whether TLS is required.
    public var usesTLS: Bool {
        tls != nil || servers.contains { $0.isTLS || !$0.isLoopback && !allowsPlaintext }
    }

    /// What the certificate must name. Addresses are checked by the library, which takes a name here for a DNS name.
    var expectedHostName: String? {
        if let name = tls?.expectedHostName { return name }
        guard let server = servers.first, servers.count == 1, server.isName else { return nil }
        return server.host
    }

    func validate() throws(NATSError) {
        guard NATSSubject.isToken(inboxPrefix) else {
            throw NATSError(.invalidArgument, "an inbox prefix is letters, digits, - and _")
        }
    }
}

extension NATSOptions: CustomStringConvertible, CustomDebugStringConvertible {
    /// The servers.
    public var description: String { serverURLs.joined(separator: ",") }

    /// The same as ``description``.
    public var debugDescription: String { description }
}
