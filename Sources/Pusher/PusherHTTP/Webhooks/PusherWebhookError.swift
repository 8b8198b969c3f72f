import Basics
import Transport

/// The reason why a webhook was rejected. Holds no secret and nothing from the body.
public struct PusherWebhookError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reasons.
    @nonexhaustive
    public enum Kind: String, Hashable, Sendable {
        /// `X-Pusher-Key` is absent or names no key of the application.
        case unknownKey
        /// `X-Pusher-Signature` is absent or does not match the body.
        case wrongSignature
        /// The signature is right, but the body is not a webhook.
        case malformed
        /// The signature is right, but the webhook is older or newer than allowed.
        case outdated
        /// The arguments are invalid, so no webhook could be verified.
        case invalidArgument
    }

    /// The kind of failure.
    public let kind: Kind
    /// A one-sentence description for people.
    public let message: String

    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = PeerText(message).description
    }

    /// The message.
    public var description: String { message }
}
