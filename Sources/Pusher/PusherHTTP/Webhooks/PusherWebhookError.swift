import Basics
import Transport

/// Why a webhook was not accepted. Holds nothing of the body and no secret.
public struct PusherWebhookError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reasons.
    @nonexhaustive
    public enum Kind: String, Hashable, Sendable {
        /// `X-Pusher-Key` is absent or names no key of the application.
        case unknownKey
        /// `X-Pusher-Signature` is absent or is not that of the body.
        case wrongSignature
        /// The signature is right, but the body is not a webhook.
        case malformed
        /// The signature is right, but the webhook is older or newer than allowed.
        case outdated
        /// It cannot be verified like this, whatever it holds.
        case invalidArgument
    }

    /// What happened.
    public let kind: Kind
    /// One sentence for people.
    public let message: String

    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = PeerText(message).description
    }

    /// The message.
    public var description: String { message }
}
