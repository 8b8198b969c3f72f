extension PusherMockServer {
    /// A failure of a new connection before it is established.
    public enum HandshakeFault: Hashable, Sendable {
        /// TCP is accepted and closed at once. If armed for every application, this affects any TCP connection,
        /// including those for HTTP requests; if armed for one application, it strikes once the request has named it.
        case refuseConnection
        /// The upgrade is answered with this HTTP status.
        case httpStatus(Int)
        /// `pusher:error` with this code, then a close frame with it.
        case refuse(code: Int, message: String)
        /// A close frame instead of the handshake, without `pusher:error`.
        case close(code: Int, reason: String)
        /// `pusher:error` first, then the usual handshake.
        case errorFirst(code: Int?, message: String)
        /// This text instead of `pusher:connection_established`, and nothing after it.
        case text(String)
        case delay(Duration)
        /// The WebSocket opens and stays silent.
        case never

        /// 4100, which asks the client to reconnect after a pause.
        public static let overCapacity = Self.refuse(code: 4100, message: "Over capacity")
    }

    /// A failure of an established connection.
    public enum ConnectionFault: Hashable, Sendable {
        /// A close frame, followed by the end of the connection; without code the frame is empty.
        case close(code: Int?, reason: String = "")
        /// TCP ends without a close frame.
        case dropTCP
        /// TCP is reset.
        case resetTCP
        /// Half-open: incoming data is ignored, nothing is sent, TCP stays open.
        case goSilent
        /// Neither form of ping is answered.
        case ignorePings
        /// A text frame with any content, such as malformed JSON.
        case text(String)
        case binary([UInt8])
        /// A control ping.
        case ping([UInt8])
        /// Bytes below WebSocket framing.
        case bytes([UInt8])
        /// A text frame of this many bytes.
        case hugeText(byteCount: Int)
        /// Every later frame is sent twice.
        case duplicateFrames
        /// Every later text frame is cut into fragments of this many bytes.
        case fragmentFrames(byteCount: Int)
        /// Every later frame is delayed by this duration; their order doesn't change.
        case delayFrames(Duration)
        /// Later frames are sent in groups of this many, the last one first.
        case reverseFrames(count: Int)
        /// Later frames wait until there are this many, which are then sent in one write: one TCP segment, if they fit.
        case mergeFrames(count: Int)
        /// All later bytes are sent in pieces of this many, each in its own TCP segment.
        case splitWrites(byteCount: Int)
        /// Every later frame lacks its `data`.
        case omitData
    }

    /// A failure of an auth endpoint.
    public enum AuthFault: Hashable, Sendable {
        /// This answer, whatever the request.
        case respond(status: Int, body: String = "")
        /// The correct answer, late.
        case delay(Duration)
        case redirect(to: String)
        /// This answer waits until this many requests have arrived, whatever other faults are armed for them; then all
        /// are answered correctly, the last one first.
        case reverseOrder(of: Int)
        case never
    }
}
