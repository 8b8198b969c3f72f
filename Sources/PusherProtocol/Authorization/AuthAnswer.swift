/// What the application's server gives for a channel (Pusher protocol, "Authorizing users").
package struct AuthAnswer: Hashable, Sendable {
    /// `key:signature`.
    package var auth: String
    /// JSON text with `user_id`; part of the signed text, so it is forwarded byte for byte.
    package var channelData: String?

    package init(auth: String, channelData: String? = nil) {
        self.auth = auth
        self.channelData = channelData
    }

    /// Reads the body of the endpoint's answer.
    ///
    /// - Throws: What is wrong with it, in words that hold nothing of the body.
    package init(body: [UInt8]) throws(AuthFailure) {
        guard body.contains(where: { $0 > 0x20 }) else { throw AuthFailure("its answer is empty") }
        guard let object = JSON.object(String(decoding: body, as: UTF8.self)) else {
            throw AuthFailure(
                body.first { $0 > 0x20 } == UInt8(ascii: "<")
                    ? "it answered HTML instead of a JSON object" : "its answer is not a JSON object")
        }
        guard let auth = object["auth"] else { throw AuthFailure("its answer has no auth") }
        guard let auth = auth as? String else { throw AuthFailure("the auth in its answer is not a string") }
        self.auth = auth
        switch object["channel_data"] {
        case nil: channelData = nil
        case let text as String: channelData = text
        case let value?:
            guard JSON.text(value) == "null" else {
                throw AuthFailure("the channel_data in its answer is not a string")
            }
        }
    }
}

/// Why a channel could not be authorized. Never holds what the endpoint sent, except in `body`.
package struct AuthFailure: Error, Hashable, Sendable {
    /// A sentence's end: “the auth endpoint … : *reason*”.
    package var reason: String
    /// The HTTP status, if the endpoint answered.
    package var status: Int?
    /// The answer's body, for the delegate alone; never logged.
    package var body: String?

    package init(_ reason: String, status: Int? = nil, body: String? = nil) {
        self.reason = reason
        self.status = status
        self.body = body
    }
}
