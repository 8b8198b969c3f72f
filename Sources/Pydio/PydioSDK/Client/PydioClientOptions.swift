public import Logging
public import Transport

/// How a ``PydioClient`` behaves. The defaults are good.
public struct PydioClientOptions: Sendable {
    /// How to prove who one is. Default: what the server offers.
    public var authentication = PydioAuthentication.automatic
    /// How long nothing may move in an exchange with the server, and how long connecting may take. An answer that comes
    /// slowly may take any time: cancel the call if you don't want to wait. Whole seconds, at least 1. Default: 60 s.
    public var requestTimeout: Duration = .seconds(60)
    /// How long nothing may move in a download or upload. Default: 60 s.
    public var stallTimeout: Duration = .seconds(60)
    /// Bytes of any answer but a download that goes to a file. Default: 64 MiB.
    public var maximumResponseSize = 64 << 20
    /// Bytes of a download that goes to a file. Default: 1 TiB.
    public var maximumDownloadSize = 1 << 40
    /// Larger files are uploaded in parts of this size. Default: 1 GiB. Parts are smaller if the server takes less at once.
    public var uploadPartSize: Int64 = 1 << 30
    /// How often a download whose connection broke goes on where it was, as long as each time something comes. Default: 5.
    public var downloadResumptions = 5
    /// Pages of one folder that are fetched when all are asked for; more is an error. Default: 1,000.
    public var maximumPages = 1000
    /// Bytes of names, paths and attributes that all pages of one folder may have together; more is an error. Default:
    /// 128 MiB.
    public var maximumListingSize = 128 << 20
    /// What the server sees; it needs one.
    public var userAgent = "PydioSDK-Swift/1.0"
    /// Texts that an error message has when the token against forged requests is wrong. No known version translates them.
    public var tokenRefusals: Set<String> = ["You are not allowed to access this resource."]
    /// A PEM file of authorities to trust instead of the system's.
    public var caFile: String?
    /// The one key that the server may have, instead of a certificate that an authority vouches for: neither who signed the
    /// certificate, nor its name and dates are looked at. Meant for development servers with a certificate of their own.
    /// Without TLS, calls then fail with ``PydioError/Code-swift.enum/invalidArgument``. Default: none.
    public var pinnedKey: PublicKeyPin?
    /// `http://`, `https://`, `socks5://` or `socks5h://`, with `user:password@` if needed. Nil, the default: what the
    /// environment says. Empty: none.
    public var proxy: String?
    /// Where callbacks arrive. Default: the main queue. Nothing runs it by itself on Linux: a program needs an async `main`,
    /// `dispatchMain()` or a run loop.
    public var completionQueue = DispatchQueue.main
    /// Gets a warning when a server wants the password over a connection that is not encrypted; nil, the default, logs
    /// nothing.
    public var logger: Logger?

    /// Keeps processes with the same account from logging in at the same time. Nil: there are no others.
    package var loginTurns: (any LoginTurns)?

    /// The defaults.
    public init() {}

    var settings: PydioRequest.Settings {
        PydioRequest.Settings(
            userAgent: userAgent, timeout: requestTimeout, stallTimeout: stallTimeout,
            maximumAnswerSize: maximumResponseSize, maximumDownloadSize: maximumDownloadSize)
    }

    var network: NetworkOptions { NetworkOptions(caFile: caFile, proxy: proxy, pinnedKey: pinnedKey) }
}
