/// A client's WebSocket as a value: the peer's bytes in, messages and bytes for the peer out (RFC 6455).
///
/// It has no socket and no timer. After each call the owner writes ``takeOutput()``. When ``Received/end`` is set, it
/// closes the connection after that write. With compression, copies share its state. A few compressed bytes can contain
/// many: one call inflates only a part of them, and the owner continues with ``resume(using:)`` after giving others a
/// turn.
package struct WebSocketMachine {
    private enum State {
        case handshake(ClientHandshake)
        case open
        /// We sent our close frame and are waiting for the peer's.
        case closing
        case closed
    }

    private enum PingState {
        case answered
        /// To be written when the peer reads again.
        case owed
        case sent
    }

    package struct Received: Sendable {
        /// Whether the handshake succeeded with this read.
        package var isOpened = false
        /// Complete messages in order.
        package var messages = WebSocketMessages()
        /// Whether the peer has answered the newest ping. Everything that it sent before is then here. Unsolicited
        /// pongs and answers to older pings are not reported.
        package var hasPong = false
        /// How the connection ended, if it did.
        package var end: WebSocketClosure?
        package var inflatedByteCount = 0
    }

    private var state: State
    private var decoder: FrameDecoder
    /// `nil` if messages are sent uncompressed.
    private var deflater: Deflater?
    private var output: [UInt8] = []
    /// Whether earlier output is still waiting for the peer to read.
    private var isHeldBack = false
    /// The payload of the newest ping, while ``isHeldBack``.
    private var owedPong: [UInt8]?
    /// The number of pings sent. Each carries its number, which its answer repeats.
    private var pingCount: UInt32 = 0
    private var newestPing = PingState.answered

    package init(_ request: WebSocketRequest, using random: inout some RandomNumberGenerator) throws(TransportError) {
        let handshake = try ClientHandshake(request, using: &random)
        output = handshake.request
        state = .handshake(handshake)
        decoder = FrameDecoder(
            maximumMessageSize: request.maximumMessageSize, oversized: request.oversizedMessages)
    }

    /// Removes and returns the pending bytes for the peer.
    package mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// Reports that the peer is not reading the output. Until it does, pings are not queued: only the newest is
    /// answered then, which is enough (RFC 6455, section 5.5.3).
    package mutating func heldBack() {
        isHeldBack = true
    }

    /// Reports that the peer has read all output.
    package mutating func released(using random: inout some RandomNumberGenerator) {
        isHeldBack = false
        if case .open = state {
            if let owedPong { write(.pong, owedPong, using: &random) }
            if case .owed = newestPing { writePing(using: &random) }
        }
        owedPong = nil
    }

    /// Whether the peer's handshake response is still pending.
    package var isInHandshake: Bool { if case .handshake = state { true } else { false } }

    /// The number of pending bytes for the peer.
    package var outputCount: Int { output.count }

    // MARK: Receiving

    /// The number of bytes after which a call stops inflating. A single piece may add about as many again.
    package static let inflatedBytesPerCall = FrameDecoder.inflatedBytesPerCall

    /// Whether some received bytes are not decoded yet. Decode them before receiving more.
    package var hasRest: Bool { if case .closed = state { false } else { decoder.hasRest } }

    /// Continues decoding where the last call stopped.
    package mutating func resume(using random: inout some RandomNumberGenerator) -> Received {
        var received = Received()
        switch state {
        case .open, .closing: decode(into: &received, using: &random) { $0.resume(into: &$1) }
        case .handshake, .closed: break
        }
        return received
    }

    /// - Parameter chunk: The bytes of one read. Messages are slices of it.
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

    /// Reports that the peer closed the connection, or that it broke.
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
        if case .open = state { received.messages = decoded.messages }  // after a close, messages are ignored
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

    /// Sends a text message in one frame. Does nothing unless the connection is open.
    package mutating func send(text: [UInt8], using random: inout some RandomNumberGenerator) {
        if case .open = state { writeMessage(.text, text, using: &random) }
    }

    package mutating func send(binary: [UInt8], using random: inout some RandomNumberGenerator) {
        if case .open = state { writeMessage(.binary, binary, using: &random) }
    }

    package mutating func ping(using random: inout some RandomNumberGenerator) {
        guard case .open = state else { return }
        pingCount &+= 1
        // A peer that does not read gets only the newest ping.
        if isHeldBack { newestPing = .owed } else { writePing(using: &random) }
    }

    private mutating func writePing(using random: inout some RandomNumberGenerator) {
        newestPing = .sent
        write(.ping, pingPayload, using: &random)
    }

    private var pingPayload: [UInt8] { withUnsafeBytes(of: pingCount.bigEndian, Array.init) }

    /// Starts the closing handshake. Returns false if no close frame is pending, and so there is nothing to wait for.
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
            // The reason has at most 123 bytes, cut between characters.
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
