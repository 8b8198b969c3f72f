public import Logging
public import Transport

/// Options for a ``PydioClient``. The defaults fit most programs.
public struct PydioClientOptions: Sendable {
    /// How the client authenticates. Default: the best method that the server offers.
    public var authentication = PydioAuthentication.automatic
    /// The idle timeout of a request, and the timeout for connecting. A slow answer may take any time: cancel the call
    /// if you don't want to wait. Whole seconds, at least 1. Default: 60 s.
    public var requestTimeout: Duration = .seconds(60)
    /// The idle timeout of a download or upload. Default: 60 s.
    public var stallTimeout: Duration = .seconds(60)
    /// The maximum bytes of any answer except a download to a file. Default: 64 MiB.
    public var maximumResponseSize = 64 << 20
    /// The maximum bytes of a download to a file. Default: 1 TiB.
    public var maximumDownloadSize = 1 << 40
    /// The size of the parts in which larger files are uploaded. Default: 1 GiB. Parts are smaller if the server's
    /// limit is lower.
    public var uploadPartSize: Int64 = 1 << 30
    /// How often a broken download is resumed, if data arrives each time. Default: 5.
    public var downloadResumptions = 5
    /// The maximum number of pages to fetch of one folder; more is an error. Default: 1,000.
    public var maximumPages = 1000
    /// The maximum bytes of names, paths and attributes on all pages of one folder; more is an error. Default: 128 MiB.
    public var maximumListingSize = 128 << 20
    /// The `User-Agent` header field, which the server requires.
    public var userAgent = "PydioSDK-Swift/1.0"
    /// Error messages that indicate a wrong token against forged requests. No known version translates them.
    public var tokenRefusals: Set<String> = ["You are not allowed to access this resource."]
    /// A PEM file of authorities to trust instead of the system's.
    public var caFile: String?
    /// The only key that the server may have, instead of a certificate from a trusted authority. The issuer, name and
    /// dates of the certificate are not checked. Meant for development servers with self-signed certificates. With a
    /// pinned key, calls without TLS fail with ``PydioError/Code-swift.enum/invalidArgument``. Default: none.
    public var pinnedKey: PublicKeyPin?
    /// `http://`, `https://`, `socks5://` or `socks5h://`, with `user:password@` if needed. `nil`, the default, uses
    /// the environment's settings. An empty string uses no proxy.
    public var proxy: String?
    /// The queue for callbacks. Default: the main queue. On Linux the main queue needs an async `main`,
    /// `dispatchMain()` or a run loop.
    public var completionQueue = DispatchQueue.main
    /// The logger for a warning when a server requires the password over an unencrypted connection; `nil`, the default,
    /// logs nothing.
    public var logger: Logger?

    /// Prevents processes with the same account from logging in at the same time. `nil` if there are no others.
    package var loginTurns: (any LoginTurns)?

    /// Creates the default options.
    public init() {}

    var settings: PydioRequest.Settings {
        PydioRequest.Settings(
            userAgent: userAgent, timeout: requestTimeout, stallTimeout: stallTimeout,
            maximumAnswerSize: maximumResponseSize, maximumDownloadSize: maximumDownloadSize)
    }

    var network: NetworkOptions { NetworkOptions(caFile: caFile, proxy: proxy, pinnedKey: pinnedKey) }
}
