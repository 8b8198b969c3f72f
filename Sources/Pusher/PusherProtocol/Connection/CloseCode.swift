/// The reaction that a close code, or the code of a `pusher:error` before the handshake, demands from the client.
///
/// Pusher protocol, "Connection closure": the range decides, not a list of known codes.
package struct CloseCode: Hashable, Sendable, RawRepresentable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package enum Disposition: Hashable, Sendable {
        /// 4000: the application accepts TLS only.
        case reconnectWithTLS
        /// 4001–4099, and 4300 and more: the same attempt would be refused again.
        case stop
        /// 4100–4199: wait at least a second.
        case backOff(atLeast: Duration)
        /// 4200–4299.
        case reconnectImmediately
    }

    package var disposition: Disposition {
        switch rawValue {
        case 4000: .reconnectWithTLS
        case 4001...4099: .stop
        case 4100...4199: .backOff(atLeast: .seconds(1))
        case 4200...4299: .reconnectImmediately
        case 4300...: .stop
        default: .backOff(atLeast: .zero)  // RFC 6455 codes
        }
    }

    /// The meaning of the code in words.
    package var meaning: String {
        switch rawValue {
        case 1000: "normal closure"
        case 1001: "the server is going away"
        case 1002: "WebSocket protocol error"
        case 1003: "unsupported data"
        case 1005: "closed without a code"
        case 1006: "connection lost without a close frame"
        case 1007: "text that is not UTF-8"
        case 1008: "policy violation"
        case 1009: "message too large"
        case 1011: "internal error of the server"
        case 4000: "the application only accepts TLS connections"
        case 4001: "the application does not exist: wrong key or wrong cluster"
        case 4003: "the application is disabled"
        case 4004: "the application is over its connection quota"
        case 4005: "path not found"
        case 4006: "invalid version string"
        case 4007: "unsupported protocol version"
        case 4008: "no protocol version supplied"
        case 4009: "the connection is unauthorized"
        case 4100: "the server is over capacity"
        case 4200: "the server asks to reconnect"
        case 4201: "the server missed our pong"
        case 4202: "closed after inactivity"
        case 4301: "client event rejected: rate limit"
        case 4302: "watchlist limit exceeded"
        case 4000...4099: "refused for good"
        case 4100...4199: "temporary failure of the server"
        case 4200...4299: "the server asks to reconnect"
        default: "close code \(rawValue)"
        }
    }
}
