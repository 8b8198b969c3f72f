import Basics
import Foundation

/// The answer of the application's server for a channel (Pusher protocol, "Authorizing users").
package struct AuthAnswer: Hashable, Sendable, Confidential {
    /// `key:signature`.
    package var auth: String
    /// JSON text with `user_id`; part of the signed text, so it is forwarded byte for byte.
    package var channelData: String?
    /// Base64 of the key of an encrypted channel.
    package var sharedSecret: String?

    package init(auth: String, channelData: String? = nil, sharedSecret: String? = nil) {
        self.auth = auth
        self.channelData = channelData
        self.sharedSecret = sharedSecret
    }

    /// A description without the signature and the secret.
    package var description: String { "an auth answer" }

    package var channelKey: ChannelKey? { sharedSecret.flatMap { ChannelKey(base64: $0) } }

    /// Returns a failure if the answer lacks a part that this kind of channel needs.
    func failure(for channel: ChannelName) -> AuthFailure? {
        switch channel.kind {
        case .encrypted where sharedSecret == nil:
            AuthFailure(
                "its answer has no shared_secret, which an encrypted channel needs: the endpoint lacks the application's "
                    + "encryption master key", kind: .unusable)
        case .encrypted where channelKey == nil:
            AuthFailure("the shared_secret in its answer is not base64 of 32 bytes", kind: .unusable)
        case .public, .private, .encrypted, .presence, .serverToUser: nil
        }
    }

    /// Reads the body of the endpoint's answer.
    ///
    /// - Throws: The reason why it is invalid, without any text of the body.
    package init(body: [UInt8]) throws(AuthFailure) {
        let answer = try AuthObject(body: body)
        auth = try answer.required("auth")
        channelData = try answer.text("channel_data")
        sharedSecret = try answer.text("shared_secret")
    }
}

/// The JSON object in an auth endpoint's answer. Failures contain none of it.
struct AuthObject {
    private let members: [String: Any]

    init(body: [UInt8]) throws(AuthFailure) {
        guard body.contains(where: { $0 > 0x20 }) else { throw AuthFailure("its answer is empty", kind: .unusable) }
        guard let members = JSON.object(String(decoding: body, as: UTF8.self)) else {
            throw AuthFailure(
                body.first { $0 > 0x20 } == UInt8(ascii: "<")
                    ? "it answered HTML instead of a JSON object" : "its answer is not a JSON object",
                kind: .unusable)
        }
        self.members = members
    }

    func required(_ name: String) throws(AuthFailure) -> String {
        guard let text = try text(name) else { throw AuthFailure("its answer has no \(name)", kind: .unusable) }
        return text
    }

    func text(_ name: String) throws(AuthFailure) -> String? {
        switch members[name] {
        case nil, is NSNull: return nil
        case let text as String: return text
        case .some: throw AuthFailure("the \(name) in its answer is not a string", kind: .unusable)
        }
    }
}

/// The reason why a channel or a user could not be authorized. Contains the endpoint's answer only in `body`.
package struct AuthFailure: Error, Hashable, Sendable {
    /// The end of the sentence “the auth endpoint … : *reason*”.
    package var reason: String
    /// The HTTP status, if the endpoint answered.
    package var status: Int?
    /// The answer's body, only for the delegate; never logged.
    package var body: String?
    package var kind: Kind

    package enum Kind: Hashable, Sendable {
        /// The request was refused.
        case refused
        /// The same request may succeed in a moment.
        case temporary
        /// The answer is invalid.
        case unusable

        /// Creates the failure for an endpoint's answer that refuses access.
        package init(status: Int) {
            self = status == 429 || status >= 500 ? .temporary : status >= 400 ? .refused : .unusable
        }
    }

    /// The failure after the timeout from the client's options.
    static let noAnswerInTime = AuthFailure("there was no answer in time", kind: .temporary)

    package init(_ reason: String, status: Int? = nil, body: String? = nil, kind: Kind = .refused) {
        self.reason = reason
        self.status = status
        self.body = body
        self.kind = kind
    }
}
