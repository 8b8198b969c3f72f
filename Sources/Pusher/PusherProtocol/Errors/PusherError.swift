import Basics
package import Realtime
import Transport

/// An error, the channel it concerns, and what the client does next.
///
/// Each error is reported once: to the delegate, the `errors` sequence and the log. Neither `message` nor `description`
/// contains secrets, signatures or payloads. Both are one line of bounded length, even if they quote the server.
public struct PusherError: Error, Hashable, Sendable {
    /// The kinds of failure.
    @nonexhaustive
    public enum Kind: String, Hashable, Sendable {
        /// The connection could not be opened: name resolution, network, proxy, TLS or the WebSocket handshake.
        case couldNotConnect
        /// An established connection ended unexpectedly.
        case connectionLost
        /// The server closed or refused the connection with its own code.
        case closedByServer
        /// The server sent `pusher:error`.
        case serverError
        /// No valid signature could be obtained for a channel; the channel is not subscribed.
        case authorizationFailed
        /// The server refused a subscription, or never answered it.
        case subscriptionFailed
        /// A message from the server could not be parsed and was dropped.
        case malformedMessage
        /// An event named a channel that was never subscribed, and was dropped.
        case unknownChannel
        /// An event of an encrypted channel could not be decrypted and was dropped.
        case decryptionFailed
        /// A client event was not sent.
        case clientEventRejected
        /// A channel name, option or argument is invalid.
        case invalidArgument
        /// An event's data is not of the requested type.
        case undecodableData
        /// A sequence was read too slowly for its buffer and has ended.
        case bufferOverflow
        /// A sequence that is not read, or a callback that does not return, has paused receiving for longer than the
        /// activity timeout.
        case readingHeld
        /// A pause reported as `readingHeld` has ended.
        case readingResumed
        /// Something went wrong at an attached source, such as a Matrix session.
        case sourceFailed
    }

    /// The kind of failure.
    public let kind: Kind
    /// The Pusher or WebSocket code, if there is one.
    public let code: Int?
    /// The meaning of the code, if it is a close code of the protocol or of RFC 6455.
    public var meaning: String? {
        guard let code, (1000...4999).contains(code) else { return nil }
        return CloseCode(rawValue: code).meaning
    }
    /// A one-sentence description for people.
    public let message: String
    /// The affected channel; `nil` for the connection as a whole.
    public let channelName: String?
    /// Whether the client retries automatically.
    public let willRetry: Bool
    /// The time until the retry, if known.
    public let retryAfter: Duration?
    /// Whether the request was not refused but got no usable answer, or could not be sent.
    package let isUnanswered: Bool
    /// The number of errors of this kind that were omitted since the last report. If a server causes many, 20 of a kind
    /// are reported at once, then one per second.
    public private(set) var omittedCount = 0
    /// The source's own error if ``kind-swift.property`` is `sourceFailed`; `nil` if there is none. Ignored by
    /// comparisons.
    public var underlying: (any Error)? { cause.error }
    private let cause: Cause

    /// A wrapper for errors of other types, which have no equality.
    private struct Cause: Hashable, Sendable {
        let error: (any Error)?

        static func == (lhs: Cause, rhs: Cause) -> Bool { true }

        func hash(into hasher: inout Hasher) {}
    }

    package init(
        _ kind: Kind, code: Int? = nil, _ message: String, channelName: String? = nil, willRetry: Bool = false,
        retryAfter: Duration? = nil, isUnanswered: Bool = false, underlying: (any Error)? = nil
    ) {
        self.kind = kind
        self.code = code
        self.message = PeerText(message).description
        self.channelName = channelName.map { PeerText($0).description }
        self.willRetry = willRetry
        self.retryAfter = retryAfter
        self.isUnanswered = isUnanswered
        cause = Cause(error: underlying)
    }

    /// Creates the error for a failure of an attached source.
    package init(_ failure: SourceFailure) {
        self.init(
            .sourceFailed, failure.message, channelName: failure.channelName, willRetry: failure.willRetry,
            retryAfter: failure.retryAfter, underlying: failure.underlying)
    }
}

extension PusherError {
    func with(omittedCount: Int) -> PusherError {
        var error = self
        error.omittedCount = omittedCount
        return error
    }
}

extension PusherError: CustomStringConvertible {
    /// The message with the channel, the code and the client's next step.
    public var description: String {
        var parts = [message]
        if let channelName { parts.insert("channel \(channelName)", at: 0) }
        var text = parts.joined(separator: ": ")
        if let code, !message.contains("answered \(code)") { text += " (code \(code))" }
        if omittedCount > 0 { text += "; \(omittedCount) more errors of this kind are not reported" }
        guard willRetry else { return text }
        guard let retryAfter else { return text + "; will retry" }
        let tenths = retryAfter.wholeTenthsOfSeconds
        guard tenths > 0 else { return text + "; will retry at once" }
        return text + "; will retry in \(tenths / 10).\(tenths % 10) s"
    }
}

extension Duration {
    fileprivate var wholeTenthsOfSeconds: Int64 { bounded.wholeNanoseconds / 100_000_000 }
}
