/// Credentials for a NATS server. Printing them shows no secret.
@nonexhaustive
public enum NATSCredentials: Hashable, Sendable {
    /// A `.creds` file with a JWT and its seed. It is read again at each reconnect.
    case file(String)
    /// A user and a password.
    case user(String, password: String)
    /// A token.
    case token(String)
    /// A public key (`U…`), and the file with its seed.
    case nkey(String, seedFile: String)

    /// The file with the seed that signs the server's data at login.
    var seedFile: String? {
        switch self {
        case .file(let path), .nkey(_, seedFile: let path): path
        case .user, .token: nil
        }
    }
}

extension NATSCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of credentials, never a secret.
    public var description: String {
        switch self {
        case .file: "credentials file"
        case .user: "user and password"
        case .token: "token"
        case .nkey: "nkey"
        }
    }

    /// Same as ``description``.
    public var debugDescription: String { description }

    /// An empty mirror, to hide secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The servers of a NATS cluster, and options for connecting to them.
///
///     let options = try NATSOptions("tls://nats1.example.org,tls://nats2.example.org")
///
/// TLS is required, and certificates are checked, if a URL starts with `tls://`, a TLS option is set, or a server is
/// not on this machine. Credentials in a URL are moved to ``credentials``, so that printing the options shows none.
public struct NATSOptions: Hashable, Sendable {
    /// TLS options.
    public struct TLS: Hashable, Sendable {
        /// A PEM file of authorities to trust; nil for the system's.
        public var authorityFile: String?
        /// PEM files of the client's own certificate and its key.
        public var certificate: Certificate?
        /// The name required in the certificates of all servers; nil for the name in the URL.
        public var expectedHostName: String?

        /// The PEM files of a certificate and its key.
        public struct Certificate: Hashable, Sendable {
            /// The certificate, followed by intermediate certificates.
            public var file: String
            /// The private key.
            public var keyFile: String

            /// Creates a certificate; see the properties.
            public init(file: String, keyFile: String) { (self.file, self.keyFile) = (file, keyFile) }
        }

        /// Creates TLS options; see the properties.
        public init(
            authorityFile: String? = nil, certificate: Certificate? = nil, expectedHostName: String? = nil
        ) {
            (self.authorityFile, self.certificate) = (authorityFile, certificate)
            self.expectedHostName = expectedHostName
        }
    }

    /// At least one.
    let servers: [NATSServerAddress]
    /// The credentials; nil for servers that require none.
    public var credentials: NATSCredentials?
    /// TLS options; nil for the defaults. See the type for when TLS is used.
    public var tls: TLS?
    /// Whether to allow unencrypted connections to other machines if the URL is not `tls://`. Everything is then sent
    /// in clear, including passwords.
    public var allowsPlaintext = false
    /// The prefix of subjects for answers. Give each role its own prefix and the permission to subscribe to it: users
    /// with the same prefix can read each other's answers.
    public var inboxPrefix = "_INBOX"
    /// The client name shown by the server.
    public var name = "EventRelay"
    /// Whether to write published messages at once. Otherwise libnats collects them for a millisecond.
    var writesAtOnce = false
    /// Whether to use servers announced by the cluster in addition to ``serverURLs``. Leave it off if the cluster's
    /// internal certificates or addresses differ from the external ones.
    public var followsDiscoveredServers = false

    /// Creates options from text.
    ///
    /// - Parameter urls: One or more URLs, separated by commas: `nats://host:4222`, `tls://host`. The scheme is
    ///   optional.
    public init(_ urls: String) throws(NATSError) {
        try self.init(urls: urls.split(separator: ",").map { $0.trimmingPrefix { $0 == " " }.description })
    }

    /// Creates options from URLs.
    ///
    /// - Parameter urls: One or more URLs: `nats://host:4222`, `tls://host`. The scheme is optional.
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

    /// The URLs of the servers, without credentials.
    public var serverURLs: [String] { servers.map(\.url) }

    /// Whether TLS is required.
    public var usesTLS: Bool {
        tls != nil || servers.contains { $0.isTLS || !$0.isLoopback && !allowsPlaintext }
    }

    /// The name required in the certificate. libnats checks addresses itself, and would treat them here as DNS names.
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
    /// The URLs of the servers, without credentials.
    public var description: String { serverURLs.joined(separator: ",") }

    /// Same as ``description``.
    public var debugDescription: String { description }
}
