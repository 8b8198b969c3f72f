import Basics
import MatrixProtocol
public import Transport

/// Options of an ``MXRestClient``. The defaults are good.
public struct MXRestClientOptions: Sendable, Hashable {
    /// The idle timeout of an exchange with the server, and the timeout of connecting. A slow answer may take any time;
    /// cancel the call if you don't want to wait. A sync adds the time the server waits. Whole seconds, at least 1.
    /// Default: 60 s.
    public var requestTimeout: Duration = .seconds(60)
    /// The maximum bytes of any answer except a sync's and a download's.
    public var maximumResponseSize = 64 << 20
    /// The maximum bytes of a sync's answer.
    public var maximumSyncSize = 256 << 20
    /// The maximum bytes of a download.
    public var maximumDownloadSize = 1 << 30
    /// The idle timeout of downloads and uploads. Default: 60 s.
    public var stallTimeout: Duration = .seconds(60)
    /// The maximum age of an operation retried after `M_LIMIT_EXCEEDED`, including the wait the server asks for.
    public var rateLimitBound: Duration = .seconds(20)
    /// The total number of tries of a repeatable request when the connection fails.
    public var connectionTries = 4
    /// The longest random pause between tries.
    public var connectionPause: Duration = .seconds(3)
    /// A PEM file of authorities to trust instead of the system's.
    public var caFile: String?
    /// The only key the server may have, instead of a certificate that an authority vouches for. The certificate's
    /// signer, name and dates are ignored. Intended for development servers with their own certificate. Applies to
    /// every server the client contacts. Without TLS, calls fail with ``MatrixError/Code-swift.enum/invalidArgument``.
    /// Default: none.
    public var pinnedKey: PublicKeyPin?
    /// The proxy; `nil` uses the environment's, an empty string uses none.
    public var proxy: String?

    /// Creates the default options.
    public init() {}

    var retryPolicy: RetryMachine.Policy {
        RetryMachine.Policy(
            rateLimitBound: rateLimitBound, connectionTries: connectionTries, connectionPause: connectionPause)
    }
}
