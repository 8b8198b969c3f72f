import Basics
package import Realtime
import Transport

/// What went wrong, to what, and what happens next.
///
/// Reported once each: to the delegate, the `errors` sequence and the log. Neither `message` nor `description` holds
/// secrets, signatures or payloads; both are one line of bounded length, also where they repeat words of the server.
public struct PusherError: Error, Hashable, Sendable {
    /// The kinds of failure.
    @nonexhaustive
    public enum Kind: String, Hashable, Sendable {
        /// The connection could not be opened: name resolution, network, proxy, TLS or the WebSocket handshake.
        case couldNotConnect
        /// An established connection ended without being asked to.
        case connectionLost
        /// The server closed or refused the connection with a code of its own.
        case closedByServer
        /// The server sent `pusher:error`.
        case serverError
        /// No valid signature could be had for a channel; the channel is not subscribed.
        case authorizationFailed
        /// The server refused a subscription, or never answered it.
        case subscriptionFailed
        /// A message of the server could not be understood and was dropped.
        case malformedMessage
        /// An event named a channel that was never subscribed, and was dropped.
        case unknownChannel
        /// An event of an encrypted channel could not be decrypted and was dropped.
        case decryptionFailed
        /// A client event was not sent.
        case clientEventRejected
        /// A channel name, option or argument cannot be used.
        case invalidArgument
        /// An event's data is not of the type asked for.
        case undecodableData
        /// A sequence was read too slowly for its buffer and has ended.
        case bufferOverflow
        /// A sequence that is not read, or a callback that does not end, has stopped receiving for longer than the
        /// activity timeout.
        case readingHeld
        /// The end of what was reported as `readingHeld`.
        case readingResumed
        /// Something went wrong at an attached source, such as a Matrix session.
        case sourceFailed
    }

    /// What happened.
    public let kind: Kind
    /// The Pusher or WebSocket code, if there is one.
    public let code: Int?
    /// The code in words, if it is a close code of the protocol's or of RFC 6455.
    public var meaning: String? {
        guard let code, (1000...4999).contains(code) else { return nil }
        return CloseCode(rawValue: code).meaning
    }
    /// One sentence for people.
    public let message: String
    /// The channel concerned; nil for the connection as a whole.
    public let channelName: String?
    /// Whether the client tries again by itself.
    public let willRetry: Bool
    /// How long until it does, if that is known.
    public let retryAfter: Duration?
    /// Nobody refused what was asked: no answer came that can be used, or nobody could be asked.
    package let isUnanswered: Bool
    /// How many more errors of this kind there were since the last that was reported. A server that causes many gets 20
    /// of a kind reported at once, then one a second.
    public private(set) var omittedCount = 0
    /// The source's own error, where ``kind-swift.property`` is `sourceFailed`; nil if there is none. Not compared.
    public var underlying: (any Error)? { cause.error }
    private let cause: Cause

    /// Errors of other types have no equality.
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

    /// What went wrong at a source that is attached.
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
    /// The message with channel, code and what happens next.
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
