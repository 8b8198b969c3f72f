/// A WebSocket connection to be opened (RFC 6455), with its bounds.
package struct WebSocketRequest: Sendable {
    /// What is done about a message that is larger than allowed.
    package enum OversizedMessages: Hashable, Sendable {
        /// Close with 1009 (RFC 6455, section 7.4.1).
        case close
        /// Skip its bytes and go on. A message 64 times too large closes all the same.
        case discard
    }

    /// Absolute, `ws` or `wss`.
    package var url: String
    /// Fields to add to the handshake; those that RFC 6455 defines are refused.
    package var fields: HTTPFields
    package var subprotocols: [String]
    /// What to offer of message compression. Nil, the default: nothing.
    package var compression: DeflateOffer?
    /// Bytes of one incoming message, all fragments together, decompressed.
    package var maximumMessageSize: Int
    package var oversizedMessages: OversizedMessages
    /// Bytes of the server's handshake answer up to the blank line.
    package var maximumHandshakeSize: Int
    /// Bytes that may wait to be written before a send is refused.
    package var maximumSendQueueSize: Int
    /// How long the owner waits for the connection: the host's addresses share this time. It does not end the attempt.
    package var connectTimeout: Duration
    /// How long the peer may take to answer our close frame and end the connection before it is dropped.
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

/// How a WebSocket connection ended, or that it never opened.
package struct WebSocketClosure: Hashable, Sendable {
    /// The close code that the peer sent; 1005 if its close frame had none, 1006 if there was no close frame
    /// (RFC 6455, section 7.4.1). If we closed because of what the peer sent: the code that we sent.
    package var code: UInt16
    package var reason: String
    /// What went wrong, unless the close handshake was completed.
    package var error: TransportError?

    package init(code: UInt16, reason: String = "", error: TransportError? = nil) {
        self.code = code
        self.reason = reason
        self.error = error
    }
}
