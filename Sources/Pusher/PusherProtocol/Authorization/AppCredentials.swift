import Basics

/// An application's key and secret, which make every signature of the protocol.
///
/// All are HMAC-SHA256 over UTF-8 text with the secret as the key, in lower-case hexadecimal.
package struct AppCredentials: Hashable, Sendable, Confidential {
    package let key: String
    package let secret: String

    package init(key: String, secret: String) {
        self.key = key
        self.secret = secret
    }

    /// A description without the secret.
    package var description: String { "credentials of key \(key)" }

    /// Returns the `auth` of a subscription: `key:signature` over `socket_id:channel[:channel_data]`.
    package func channelAuth(socketID: SocketID, channel: ChannelName, channelData: String? = nil) -> String {
        var text = "\(socketID):\(channel)"
        if let channelData { text += ":\(channelData)" }
        return "\(key):\(signature(of: text))"
    }

    /// Returns the `auth` of a sign-in: `key:signature` over `socket_id::user::user_data`.
    package func userAuth(socketID: SocketID, userData: String) -> String {
        "\(key):\(signature(of: "\(socketID)::user::\(userData)"))"
    }

    /// Returns whether `auth` equals the result of ``channelAuth(socketID:channel:channelData:)``. Splits it at the
    /// first colon.
    package func accepts(
        channelAuth auth: String, socketID: SocketID, channel: ChannelName, channelData: String?
    ) -> Bool {
        Digest.areEqual(
            Array(auth.utf8),
            Array(channelAuth(socketID: socketID, channel: channel, channelData: channelData).utf8))
    }

    /// Returns whether `auth` equals the result of ``userAuth(socketID:userData:)``.
    package func accepts(userAuth auth: String, socketID: SocketID, userData: String) -> Bool {
        Digest.areEqual(Array(auth.utf8), Array(userAuth(socketID: socketID, userData: userData).utf8))
    }

    /// Returns the signature of an HTTP API request over method, path and query.
    ///
    /// - Parameter query: every parameter but `auth_signature`, not URL-escaped. Keys are lower-cased, then sorted.
    package func httpSignature(method: String, path: String, query: [(name: String, value: String)]) -> String {
        let parameters = query.map { (name: $0.name.lowercased(), value: $0.value) }
            .sorted { $0.name.precedesExactly($1.name) }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
        return signature(of: "\(method.uppercased())\n\(path)\n\(parameters)")
    }

    /// Returns the `X-Pusher-Signature` of a webhook.
    package func webhookSignature(body: [UInt8]) -> String {
        Digest.hmacSHA256(key: Array(secret.utf8), message: body).hexadecimal
    }

    private func signature(of text: String) -> String {
        Digest.hmacSHA256(key: Array(secret.utf8), message: Array(text.utf8)).hexadecimal
    }
}
