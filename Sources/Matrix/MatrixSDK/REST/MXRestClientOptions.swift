import Basics
import MatrixProtocol
public import Transport

/// How an ``MXRestClient`` behaves. The defaults are good.
public struct MXRestClientOptions: Sendable, Hashable {
    /// How long nothing may move in an exchange with the server, and how long connecting may take. An answer that comes
    /// slowly may take any time: cancel the call if you don't want to wait. A sync adds the time that the server waits. Whole
    /// seconds, at least 1. Default: 60 s.
    public var requestTimeout: Duration = .seconds(60)
    /// Bytes of any answer but a sync's and a download's.
    public var maximumResponseSize = 64 << 20
    /// Bytes of a sync's answer.
    public var maximumSyncSize = 256 << 20
    /// Bytes of a download.
    public var maximumDownloadSize = 1 << 30
    /// The same for downloads and uploads. Default: 60 s.
    public var stallTimeout: Duration = .seconds(60)
    /// After `M_LIMIT_EXCEEDED` the client waits as told and tries again, unless the operation would then be older.
    public var rateLimitBound: Duration = .seconds(20)
    /// Tries in all when the connection fails, of requests that may be repeated.
    public var connectionTries = 4
    /// The longest of the random pauses between them.
    public var connectionPause: Duration = .seconds(3)
    /// A PEM file of authorities to trust instead of the system's.
    public var caFile: String?
    /// The one key that the server may have, instead of a certificate that an authority vouches for: neither who signed the
    /// certificate, nor its name and dates are looked at. Meant for development servers with a certificate of their own.
    /// Holds for every server that the client speaks to; without TLS, calls then fail with
    /// ``MatrixError/Code-swift.enum/invalidArgument``. Default: none.
    public var pinnedKey: PublicKeyPin?
    /// Nil is what the environment says, empty is none.
    public var proxy: String?

    /// The defaults.
    public init() {}

    var retryPolicy: RetryMachine.Policy {
        RetryMachine.Policy(
            rateLimitBound: rateLimitBound, connectionTries: connectionTries, connectionPause: connectionPause)
    }
}
