/// A client's WebSocket as a value: bytes of the peer in, messages and bytes for the peer out (RFC 6455).
///
/// It holds no socket and no timer. After each call the owner writes ``takeOutput()``; when ``Received/end`` is set it
/// closes the connection once that is written. With compression, copies share its state, and a few bytes can hold many:
/// one call inflates a part of them, and the owner goes on with ``resume(using:)`` when others have had their turn.
package struct WebSocketMachine {
    private enum State {
        case handshake(ClientHandshake)
        case open
        /// Our close frame is sent, the peer's is awaited.
        case closing
        case closed
    }

    private enum PingState {
        case answered
        /// It is written when the peer reads again.
        case owed
        case sent
    }

    /// What one read brought.
    package struct Received: Sendable {
        /// The handshake succeeded with this read.
        package var isOpened = false
        /// Whole messages in order.
        package var messages = WebSocketMessages()
        /// The peer has answered the newest ping, so all that it had sent before it got that is here. Pongs that nobody asked
        /// for, or that answer an older ping, are not told.
        package var hasPong = false
        /// The connection is over: how it ended.
        package var end: WebSocketClosure?
        /// Bytes that were inflated.
        package var inflatedByteCount = 0
    }

    private var state: State
    private var decoder: FrameDecoder
    /// Nil: messages are sent as they are.
    private var deflater: Deflater?
    private var output: [UInt8] = []
    /// Whether earlier output still waits for the peer to read.
    private var isHeldBack = false
    /// The payload of the newest ping, while ``isHeldBack``.
    private var owedPong: [UInt8]?
    /// How many pings were sent: each carries its number, which its answer repeats.
    private var pingCount: UInt32 = 0
    private var newestPing = PingState.answered

    package init(_ request: WebSocketRequest, using random: inout some RandomNumberGenerator) throws(TransportError) {
        let handshake = try ClientHandshake(request, using: &random)
        output = handshake.request
        state = .handshake(handshake)
        decoder = FrameDecoder(
            maximumMessageSize: request.maximumMessageSize, oversized: request.oversizedMessages)
    }

    /// Bytes for the peer that have not been taken yet.
    package mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// The peer does not read what was taken. Until it does, pings are not queued up: the newest is answered then, which
    /// is enough (RFC 6455, section 5.5.3).
    package mutating func heldBack() {
        isHeldBack = true
    }

    /// The peer has read everything that was taken.
    package mutating func released(using random: inout some RandomNumberGenerator) {
        isHeldBack = false
        if case .open = state {
            if let owedPong { write(.pong, owedPong, using: &random) }
            if case .owed = newestPing { writePing(using: &random) }
        }
        owedPong = nil
    }

    /// Whether the peer's answer to the handshake is still awaited.
    package var isInHandshake: Bool { if case .handshake = state { true } else { false } }

    /// How many those are.
    package var outputCount: Int { output.count }

    // MARK: Receiving

    /// Bytes after which one call inflates no more; a single piece may bring about as many again.
    package static let inflatedBytesPerCall = FrameDecoder.inflatedBytesPerCall

    /// Whether some of the bytes received are not decoded yet. Nothing more is to be received before they are.
    package var hasRest: Bool { if case .closed = state { false } else { decoder.hasRest } }

    /// Decodes on where the last call stopped.
    package mutating func resume(using random: inout some RandomNumberGenerator) -> Received {
        var received = Received()
        switch state {
        case .open, .closing: decode(into: &received, using: &random) { $0.resume(into: &$1) }
        case .handshake, .closed: break
        }
        return received
    }

    /// - Parameter chunk: What one read brought. Messages are slices of it.
    package mutating func receive(_ chunk: [UInt8], using random: inout some RandomNumberGenerator) -> Received {
        var received = Received()
        switch state {
        case .handshake(var handshake):
            switch chunk.withUnsafeBytes({ handshake.receive($0) }) {
            case .needsMore:
                state = .handshake(handshake)
            case .refused(let error):
                state = .closed
                received.end = WebSocketClosure(code: 1006, error: error)
            case .accepted(let rest, let compression):
                state = .open
                if let compression { compress(as: compression) }
                received.isOpened = true
                decode(into: &received, using: &random) { $0.decode(Array(rest), into: &$1) }
            }
        case .open, .closing:
            decode(into: &received, using: &random) { $0.decode(chunk, into: &$1) }
        case .closed:
            break  // data after the end is ignored (section 5.5.1)
        }
        return received
    }

    private mutating func compress(as agreed: DeflateParameters) {
        decoder.inflatesMessages(windowBits: agreed.peerWindowBits, peerKeepsContext: agreed.peerKeepsContext)
        deflater = Deflater(windowBits: agreed.ownWindowBits, keepsContext: agreed.keepsOwnContext)
    }

    /// The peer has closed the connection, or it broke.
    package mutating func ended(_ error: TransportError?) -> WebSocketClosure {
        defer { state = .closed }
        switch state {
        case .handshake(let handshake): return WebSocketClosure(code: 1006, error: error ?? handshake.ended())
        case .open, .closing, .closed:
            let lost = TransportError(.connectionLost, "the connection ended without a WebSocket close frame")
            return WebSocketClosure(code: 1006, error: error ?? lost)
        }
    }

    private mutating func decode(
        into received: inout Received, using random: inout some RandomNumberGenerator,
        _ body: (inout FrameDecoder, inout FrameDecoder.Output) -> Void
    ) {
        var decoded = FrameDecoder.Output()
        body(&decoder, &decoded)
        received.inflatedByteCount = decoder.inflatedByteCount
        if case .open = state { received.messages = decoded.messages }  // who said goodbye wants no more
        for control in decoded.controls {
            switch control {
            case .ping(let payload):
                guard case .open = state else { break }
                if isHeldBack { owedPong = payload } else { write(.pong, payload, using: &random) }
            case .pong(let payload):
                guard case .sent = newestPing, payload == pingPayload else { break }
                newestPing = .answered
                received.hasPong = true
            case .close(let code, let reason):
                if case .open = state { writeClose(code, "", using: &random) }  // section 5.5.1: echo the code
                state = .closed
                received.end = WebSocketClosure(code: code ?? 1005, reason: reason)
            case .violation(let code, let reason):
                if case .open = state { writeClose(code, "", using: &random) }
                state = .closed
                received.end = WebSocketClosure(
                    code: code, error: TransportError(.protocolViolation(code: code), "the server sent \(reason)"))
            }
        }
    }

    // MARK: Sending

    /// Sends a text message in one frame. Nothing is sent unless the connection is open.
    package mutating func send(text: [UInt8], using random: inout some RandomNumberGenerator) {
        if case .open = state { writeMessage(.text, text, using: &random) }
    }

    package mutating func send(binary: [UInt8], using random: inout some RandomNumberGenerator) {
        if case .open = state { writeMessage(.binary, binary, using: &random) }
    }

    package mutating func ping(using random: inout some RandomNumberGenerator) {
        guard case .open = state else { return }
        pingCount &+= 1
        // Whoever does not read gets the newest alone.
        if isHeldBack { newestPing = .owed } else { writePing(using: &random) }
    }

    private mutating func writePing(using random: inout some RandomNumberGenerator) {
        newestPing = .sent
        write(.ping, pingPayload, using: &random)
    }

    private var pingPayload: [UInt8] { withUnsafeBytes(of: pingCount.bigEndian, Array.init) }

    /// Starts the closing handshake. Says whether a close frame is under way: otherwise there is nothing to wait for.
    package mutating func close(
        code: UInt16, reason: String, using random: inout some RandomNumberGenerator
    ) -> Bool {
        switch state {
        case .open:
            writeClose(code, reason, using: &random)
            state = .closing
            return true
        case .closing: return true
        case .handshake, .closed:
            state = .closed
            return false
        }
    }

    private mutating func writeClose(
        _ code: UInt16?, _ reason: String, using random: inout some RandomNumberGenerator
    ) {
        var payload: [UInt8] = []
        if let code {
            payload = [UInt8(code >> 8), UInt8(code & 0xFF)]
            // 123 bytes of reason at most, cut between characters.
            for character in reason where payload.count + character.utf8.count <= FrameHeader.maximumControlPayload {
                payload += Array(character.utf8)
            }
        }
        write(.close, payload, using: &random)
    }

    private mutating func writeMessage(
        _ opcode: FrameHeader.Opcode, _ payload: [UInt8], using random: inout some RandomNumberGenerator
    ) {
        guard let deflater else { return write(opcode, payload, using: &random) }
        output += FrameHeader.encode(opcode, payload: deflater.deflate(payload), isCompressed: true, using: &random)
    }

    private mutating func write(
        _ opcode: FrameHeader.Opcode, _ payload: [UInt8], using random: inout some RandomNumberGenerator
    ) {
        output += FrameHeader.encode(opcode, payload: payload, using: &random)
    }
}
