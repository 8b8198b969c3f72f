import Basics
import CNATS

/// The reason why a call to NATS failed. Contains neither credentials nor payloads.
public struct NATSError: Error, Hashable, Sendable {
    /// The kind of failure.
    @nonexhaustive
    public enum Kind: String, Hashable, Sendable {
        /// An option or argument is invalid. Nothing was sent.
        case invalidArgument
        /// There is currently no connection. Nothing was sent.
        case notConnected
        /// No server could be reached.
        case unreachable
        /// The server rejected the credentials.
        case authentication
        /// The user is not permitted to publish or subscribe to the subject.
        case permission
        /// The server's certificate was rejected, or the server doesn't support TLS.
        case tls
        /// The server is too old.
        case unsupportedServer
        /// The subject has no responders: no stream accepts it, or the stream currently has no leader.
        case noResponders
        /// No answer arrived. The server may or may not have performed the request.
        case timeout
        /// The condition of a publish failed: another message came first.
        case wrongLastSequence
        /// The stream has reached its limit and accepts no more messages.
        case streamFull
        /// The storage quota of the server or the account is used up. An operator must increase it and restart the
        /// servers.
        case quotaExceeded
        /// The message is larger than the server or the stream allows.
        case tooLarge
        /// The stream, consumer or message does not exist.
        case notFound
        /// JetStream currently has no leader, or is not available.
        case unavailable
        /// A stream or consumer exists with other settings.
        case differentSettings
        /// Any other error of the server or the library.
        case other
    }

    /// The kind of failure.
    public let kind: Kind
    /// A sentence to show to people.
    public let message: String
    /// JetStream's own code, such as 10071; nil if the error is not JetStream's.
    public let jsErrCode: Int?

    package init(_ kind: Kind, _ message: String, jsErrCode: Int? = nil) {
        self.kind = kind
        self.message = PeerText(message).description
        self.jsErrCode = jsErrCode
    }

    /// Whether the same call may succeed later without intervention.
    public var mayRetry: Bool {
        switch kind {
        case .notConnected, .unreachable, .noResponders, .timeout, .unavailable: true
        case .invalidArgument, .authentication, .permission, .tls, .unsupportedServer, .wrongLastSequence, .streamFull,
            .quotaExceeded, .tooLarge, .notFound, .differentSettings, .other:
            false
        }
    }
}

extension NATSError: CustomStringConvertible {
    /// The message, with JetStream's code if there is one.
    public var description: String { message + (jsErrCode.map { " (JetStream error \($0))" } ?? "") }
}

extension NATSError {
    /// - Parameters:
    ///   - task: The failed task, as the beginning of a sentence: `the publish to ev.x`.
    ///   - text: The message of libnats or the server.
    init(_ status: natsStatus, _ code: Int = 0, during task: String, text: String = NATSError.lastText) {
        let kind = Self.kind(status, code)
        // libnats adds the location in its source code.
        let text = text.replacing(#/\(\w+\.c:\d+\): */#, with: "")
        let reason =
            switch kind {
            case .noResponders: "nobody serves the subject: there is no such stream, or it has no leader at the moment"
            case .timeout: "no answer came in time"
            case .notConnected: "there is no connection to a server"
            case .unreachable: "no server could be reached"
            case .invalidArgument, .authentication, .permission, .tls, .unsupportedServer, .wrongLastSequence,
                .streamFull,
                .quotaExceeded, .tooLarge, .notFound, .unavailable, .differentSettings, .other:
                text.isEmpty ? String(cString: natsStatus_GetText(status)) : text
            }
        self.init(kind, "\(task) failed: \(reason)", jsErrCode: code == 0 ? nil : code)
    }

    static func noStream(_ name: String) -> NATSError {
        NATSError(.notFound, "there is no stream \(name): set it up first")
    }

    /// The message of libnats for the last failure on this thread.
    static var lastText: String { nats_GetLastError(nil).map { String(cString: $0) } ?? "" }

    static func kind(_ status: natsStatus, _ code: Int) -> Kind {
        switch code {
        case 0: kind(status)
        case 10071: .wrongLastSequence
        case 10077: .streamFull
        case 10023, 10002, 10028, 10047: .quotaExceeded
        case 10054: .tooLarge
        case 10014, 10037, 10059: .notFound
        case 10008, 10009, 10005, 10074: .unavailable
        case 10058, 10013, 10093, 10148: .differentSettings
        case 10076: .noResponders
        default: .other
        }
    }

    private static func kind(_ status: natsStatus) -> Kind {
        switch status {
        case NATS_TIMEOUT: .timeout
        case NATS_NO_RESPONDERS: .noResponders
        case NATS_NOT_FOUND: .notFound
        case NATS_CONNECTION_CLOSED, NATS_CONNECTION_DISCONNECTED, NATS_STALE_CONNECTION, NATS_NOT_YET_CONNECTED,
            NATS_INSUFFICIENT_BUFFER, NATS_DRAINING, NATS_IO_ERROR:
            .notConnected
        case NATS_NO_SERVER: .unreachable
        case NATS_CONNECTION_AUTH_FAILED: .authentication
        case NATS_NOT_PERMITTED: .permission
        case NATS_SECURE_CONNECTION_WANTED, NATS_SECURE_CONNECTION_REQUIRED, NATS_SSL_ERROR: .tls
        case NATS_MAX_PAYLOAD: .tooLarge
        case NATS_INVALID_ARG, NATS_INVALID_SUBJECT, NATS_ADDRESS_MISSING: .invalidArgument
        case NATS_NO_SERVER_SUPPORT: .unsupportedServer
        default: .other
        }
    }
}
