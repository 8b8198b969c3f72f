/// A request for a WebSocket connection (RFC 6455), with its limits.
package struct WebSocketRequest: Sendable {
    /// The treatment of a message that is larger than allowed.
    package enum OversizedMessages: Hashable, Sendable {
        /// Close with 1009 (RFC 6455, section 7.4.1).
        case close
        /// Skip the message. One that is 64 times too large still closes the connection.
        case discard
    }

    /// The absolute URL, `ws` or `wss`.
    package var url: String
    /// Additional fields of the handshake. Fields defined by RFC 6455 are refused.
    package var fields: HTTPFields
    package var subprotocols: [String]
    /// The message compression to offer; nil, the default, for none.
    package var compression: DeflateOffer?
    /// The maximum size in bytes of an incoming message, with all fragments and decompressed.
    package var maximumMessageSize: Int
    package var oversizedMessages: OversizedMessages
    /// The maximum size in bytes of the server's handshake response, up to the blank line.
    package var maximumHandshakeSize: Int
    /// The maximum number of unwritten bytes before a send is refused.
    package var maximumSendQueueSize: Int
    /// The time that the owner waits for the connection, which the host's addresses share. It does not end the attempt.
    package var connectTimeout: Duration
    /// The time for the peer to answer our close frame and end the connection before it is dropped.
    package var closeTimeout: Duration

    package init(
        url: String, fields: HTTPFields = [:], subprotocols: [String] = [], compression: DeflateOffer? = nil,
        maximumMessageSize: Int = 10 << 20,
        oversizedMessages: OversizedMessages = .close, maximumHandshakeSize: Int = 16 << 10,
        maximumSendQueueSize: Int = 16 << 20, connectTimeout: Duration = .seconds(15),
        closeTimeout: Duration = .seconds(2)
    ) {
        self.url = url
        self.fields = fields
        self.subprotocols = subprotocols
        self.compression = compression
        self.maximumMessageSize = maximumMessageSize
        self.oversizedMessages = oversizedMessages
        self.maximumHandshakeSize = maximumHandshakeSize
        self.maximumSendQueueSize = maximumSendQueueSize
        self.connectTimeout = connectTimeout
        self.closeTimeout = closeTimeout
    }
}

/// The reason why a WebSocket connection ended or never opened.
package struct WebSocketClosure: Hashable, Sendable {
    /// The close code that the peer sent; 1005 if its close frame had none, 1006 if there was no close frame (RFC 6455,
    /// section 7.4.1). If we closed because of data from the peer, the code that we sent.
    package var code: UInt16
    package var reason: String
    /// The error, unless the close handshake was completed.
    package var error: TransportError?

    package init(code: UInt16, reason: String = "", error: TransportError? = nil) {
        self.code = code
        self.reason = reason
        self.error = error
    }
}
