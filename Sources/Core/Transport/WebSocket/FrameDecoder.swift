import Basics

/// Extracts messages from a server's byte stream, however it is split (RFC 6455, sections 5.2 to 5.5).
///
/// Messages are slices of a read's bytes, which are not copied. Only fragments, and messages that do not fit into a
/// read, are gathered in separate buffers, which grow with the data that actually arrived.
struct FrameDecoder {
    /// The decoded data, in two lists: messages in order, and control frames in order. A close or a violation is always
    /// the last item.
    struct Output: Sendable {
        var messages = WebSocketMessages()
        var controls: [Control] = []
    }

    enum Control: Sendable {
        case ping([UInt8])
        case pong([UInt8])
        case close(code: UInt16?, reason: String)
        /// The stream is unusable from here on; answer with this close code.
        case violation(code: UInt16, String)
    }

    /// A message whose fragments are being gathered.
    private struct Fragments {
        let isText: Bool
        var isCompressed = false
        var bytes: [UInt8] = []
        var validator = UTF8Validator()
        /// The total size so far, including skipped bytes.
        var byteCount = 0
        /// The size of a compressed message before decompression.
        var compressedByteCount = 0
        /// Whether the rest of a compressed message is skipped.
        var isSkipped = false
    }

    private struct PartialFrame {
        let header: FrameHeader
        var isCompressed = false
        var bytes: [UInt8] = []
        var missing: Int
        var validator = UTF8Validator()
        var isSkipped = false
    }

    /// The factor of the limit up to which larger messages are skipped rather than refused.
    private static let skippedSizeFactor = 64
    /// The size after which a call stops inflating and leaves the rest to the next call.
    static let inflatedBytesPerCall = 1 << 20
    /// The number of compressed bytes to inflate at once, which produce at most 1032 times as much.
    private static let inflatedPieceSize = 1 << 10

    private let maximumMessageSize: Int
    private let oversized: WebSocketRequest.OversizedMessages
    /// The beginning of an incomplete frame header: less than 10 bytes.
    private var headerBytes: [UInt8] = []
    private var partial: PartialFrame?
    private var fragments: Fragments?
    private var inflater: Inflater?
    /// Whether a compressed message may refer to previous ones.
    private var peerKeepsContext = true
    private var reservedBits = FrameHeader.reservedBits
    private var isEnded = false
    /// Received bytes that are not decoded yet, and the position of the first one.
    private var rest: (chunk: [UInt8], start: Int)?
    private(set) var inflatedByteCount = 0

    init(maximumMessageSize: Int, oversized: WebSocketRequest.OversizedMessages) {
        self.maximumMessageSize = min(maximumMessageSize, Int(Int32.max))  // positions have 32 bits
        self.oversized = oversized
    }

    mutating func inflatesMessages(windowBits: Int, peerKeepsContext: Bool) {
        inflater = Inflater(windowBits: windowBits)
        self.peerKeepsContext = peerKeepsContext
        reservedBits = FrameHeader.reservedBitsWithCompression
    }

    /// Whether ``resume(into:)`` has something to do. Call it before decoding more bytes.
    var hasRest: Bool { rest != nil }

    /// Decodes more bytes. Some may remain: see ``hasRest``.
    mutating func decode(_ chunk: [UInt8], into output: inout Output) {
        guard !isEnded else { return }
        let bytes = headerBytes.isEmpty ? chunk : headerBytes + chunk  // a header that was split: rare
        headerBytes = []
        start(bytes, from: 0, into: &output)
    }

    mutating func resume(into output: inout Output) {
        guard let (chunk, start) = rest else { return }
        rest = nil
        self.start(chunk, from: start, into: &output)
    }

    private mutating func start(_ chunk: [UInt8], from start: Int, into output: inout Output) {
        inflatedByteCount = 0
        output.messages = WebSocketMessages(of: chunk)
        decode(chunk, from: start, into: &output)
    }

    private mutating func decode(_ chunk: [UInt8], from start: Int, into output: inout Output) {
        chunk.withUnsafeBytes { bytes in
            var index = start
            while !isEnded, index < bytes.count {
                guard inflatedByteCount < Self.inflatedBytesPerCall else {
                    rest = (chunk, index)
                    return
                }
                if partial != nil {
                    index += continuePartial(UnsafeRawBufferPointer(rebasing: bytes[index...]), into: &output)
                    continue
                }
                switch FrameHeader.parse(bytes, at: index, reservedBits: reservedBits) {
                case .needsMore:
                    headerBytes = Array(chunk[index...])
                    return
                case .violation(let reason):
                    violation(1002, reason, into: &output)
                case .header(let header, let size):
                    index += size
                    guard accepts(header, into: &output) else { return }
                    let end = index + min(header.payloadLength, bytes.count - index)
                    let payload = UnsafeRawBufferPointer(rebasing: bytes[index..<end])
                    if payload.count == header.payloadLength, !isTooLarge(header), !isCompressed(header) {
                        finish(header, payload, partOfChunk: index..<end, into: &output)
                        index = end
                    } else {
                        index += begin(header, payload, into: &output)
                    }
                }
            }
        }
    }

    // MARK: Rules on the header

    private mutating func accepts(_ header: FrameHeader, into output: inout Output) -> Bool {
        switch header.opcode {
        case .continuation:
            guard fragments != nil else {
                return violation(1002, "a continuation without a beginning", into: &output)
            }
        case .text, .binary:
            guard fragments == nil else {
                return violation(1002, "a new message inside a fragmented one", into: &output)
            }
        case .close, .ping, .pong: return true
        }
        return isTooLarge(header) || isCompressed(header) ? acceptsSize(of: header, into: &output) : true
    }

    /// Checks a message that is too large or compressed. Not inlined, to keep the path of all others fast.
    @inline(never)
    private mutating func acceptsSize(of header: FrameHeader, into output: inout Output) -> Bool {
        if isCompressed(header) {
            // Its size is not known yet, but even one that inflates to nothing must end.
            return header.payloadLength <= skippableSize - (fragments?.compressedByteCount ?? 0)
                ? true : tooLarge(into: &output)
        }
        switch oversized {
        case .discard where header.payloadLength <= skippableSize - (fragments?.byteCount ?? 0): return true
        case .discard, .close: return tooLarge(into: &output)
        }
    }

    /// The number of bytes of a message to skip before closing the connection.
    private var skippableSize: Int {
        let size = maximumMessageSize.multipliedReportingOverflow(by: Self.skippedSizeFactor)
        return size.overflow ? .max : size.partialValue
    }

    private mutating func tooLarge(into output: inout Output) -> Bool {
        violation(1009, "a message of more than \(maximumMessageSize) bytes (maximumMessageSize)", into: &output)
    }

    private func isTooLarge(_ header: FrameHeader) -> Bool {
        guard !header.opcode.isControl else { return false }
        // Includes the rest of a message that was partly skipped, because skipped bytes were counted.
        return header.payloadLength > maximumMessageSize - (fragments?.byteCount ?? 0)
    }

    @discardableResult
    private mutating func violation(_ code: UInt16, _ reason: String, into output: inout Output) -> Bool {
        isEnded = true
        output.controls.append(.violation(code: code, reason))
        return false
    }

    // MARK: Partial frames

    /// Processes a frame that is incomplete, too large or compressed. Not inlined, to keep the path of all others fast.
    ///
    /// - Returns: The number of payload bytes taken.
    @inline(never)
    private mutating func begin(
        _ header: FrameHeader, _ payload: UnsafeRawBufferPointer, into output: inout Output
    ) -> Int {
        let isCompressed = isCompressed(header)
        if isCompressed {
            var message = fragments ?? Fragments(isText: header.opcode == .text, isCompressed: true)
            fragments = nil
            message.compressedByteCount += header.payloadLength
            fragments = message
        }
        partial = PartialFrame(
            header: header, isCompressed: isCompressed, missing: header.payloadLength,
            validator: fragments?.validator ?? UTF8Validator(), isSkipped: !isCompressed && isTooLarge(header))
        return continuePartial(payload, into: &output)
    }

    /// Takes bytes of the current frame, only a piece if it is compressed, and returns their number.
    private mutating func continuePartial(_ bytes: UnsafeRawBufferPointer, into output: inout Output) -> Int {
        guard var frame = partial else { return 0 }
        partial = nil
        let size = frame.isCompressed ? min(frame.missing, Self.inflatedPieceSize) : frame.missing
        let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(size))
        frame.missing -= piece.count
        if frame.isCompressed {
            guard inflate(piece, endsMessage: frame.missing == 0 && frame.header.isFinal, into: &output) else {
                return piece.count
            }
        } else if !frame.isSkipped {
            frame.bytes.append(contentsOf: piece)
            guard isText(frame.header) ? frame.validator.accepts(piece) : true else {
                violation(1007, "text that is not UTF-8", into: &output)
                return piece.count
            }
        }
        guard frame.missing == 0 else {
            partial = frame
            return piece.count
        }
        if frame.isCompressed {
            if frame.header.isFinal { finishCompressed(into: &output) }
        } else if frame.isSkipped {
            skip(frame.header, into: &output)
        } else {
            frame.bytes.withUnsafeBytes { finish(frame.header, $0, gathered: frame.bytes, into: &output) }
        }
        return piece.count
    }

    private func isText(_ header: FrameHeader) -> Bool {
        header.opcode == .text || header.opcode == .continuation && fragments?.isText == true
    }

    private mutating func skip(_ header: FrameHeader, into output: inout Output) {
        var message = fragments ?? Fragments(isText: false)
        message.bytes = []
        message.byteCount += header.payloadLength
        fragments = header.isFinal ? nil : message
        if header.isFinal { output.messages.append(.oversized(byteCount: message.byteCount)) }
    }

    // MARK: Whole frames

    /// - Parameters:
    ///   - part: The payload's position in the chunk; nil if it was gathered.
    ///   - gathered: The payload in its own array.
    @inline(__always)
    private mutating func finish(
        _ header: FrameHeader, _ payload: UnsafeRawBufferPointer, partOfChunk part: Range<Int>? = nil,
        gathered: [UInt8] = [], into output: inout Output
    ) {
        switch header.opcode {
        case .text where header.isFinal:
            var validator = UTF8Validator()
            guard validator.accepts(payload), validator.isComplete else {
                violation(1007, "text that is not UTF-8", into: &output)
                return
            }
            if let part {
                output.messages.appendPart(part, isText: true)
            } else {
                output.messages.append(.text(gathered[...]))
            }
        case .binary where header.isFinal:
            if let part {
                output.messages.appendPart(part, isText: false)
            } else {
                output.messages.append(.binary(gathered[...]))
            }
        case .text, .binary, .continuation:
            finishFragment(header, payload, into: &output)
        case .ping: output.controls.append(.ping(Array(payload)))
        case .pong: output.controls.append(.pong(Array(payload)))
        case .close: finishClose(payload, into: &output)
        }
    }

    private mutating func finishFragment(
        _ header: FrameHeader, _ bytes: UnsafeRawBufferPointer, into output: inout Output
    ) {
        var message = fragments ?? Fragments(isText: header.opcode == .text)
        fragments = nil
        message.bytes.append(contentsOf: bytes)
        message.byteCount += bytes.count
        if message.isText, !message.validator.accepts(bytes) || header.isFinal && !message.validator.isComplete {
            violation(1007, "text that is not UTF-8", into: &output)
            return
        }
        guard header.isFinal else {
            fragments = message
            return
        }
        deliver(message, into: &output)
    }

    private func deliver(_ message: Fragments, into output: inout Output) {
        output.messages.append(message.isText ? .text(message.bytes[...]) : .binary(message.bytes[...]))
    }

    // MARK: Compressed messages (RFC 7692, section 6.2)

    private func isCompressed(_ header: FrameHeader) -> Bool {
        header.isCompressed || header.opcode == .continuation && fragments?.isCompressed == true
    }

    /// Adds the contents of `piece` to the pending message. Stops inflating at the limit: the rest of the message is
    /// skipped if the next one does not refer to it, otherwise the connection ends.
    private mutating func inflate(
        _ piece: UnsafeRawBufferPointer, endsMessage: Bool, into output: inout Output
    ) -> Bool {
        guard let inflater, var message = fragments else {
            return violation(1011, "a compressed message, for which there is no memory", into: &output)
        }
        if message.isSkipped { return true }
        fragments = nil
        var isText = true
        let limit = maximumMessageSize
        func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
            message.byteCount += bytes.count
            guard message.byteCount <= limit else { return false }
            message.bytes += bytes
            isText = !message.isText || message.validator.accepts(bytes)
            return isText
        }
        let byteCount = message.byteCount
        var outcome = inflater.inflate(piece, take)
        if case .done = outcome, endsMessage { outcome = inflater.finishMessage(take) }
        inflatedByteCount += message.byteCount - byteCount
        switch outcome {
        case .done:
            fragments = message
            return true
        case .stopped where isText && oversized == .discard && !peerKeepsContext:
            message.isSkipped = true
            message.bytes = []
            fragments = message
            return inflater.reset() ? true : tooLarge(into: &output)
        case .stopped where !isText: return violation(1007, "text that is not UTF-8", into: &output)
        case .stopped: return tooLarge(into: &output)
        case .corrupt: return violation(1007, "a compressed message that cannot be decompressed", into: &output)
        }
    }

    private mutating func finishCompressed(into output: inout Output) {
        guard let message = fragments else { return }
        fragments = nil
        if message.isSkipped {
            output.messages.append(.oversized(byteCount: message.byteCount))
        } else if message.isText, !message.validator.isComplete {
            violation(1007, "text that is not UTF-8", into: &output)
        } else {
            deliver(message, into: &output)
        }
    }

    private mutating func finishClose(_ bytes: UnsafeRawBufferPointer, into output: inout Output) {
        isEnded = true
        switch CloseFrame(payload: bytes) {
        case .close(let code, let reason): output.controls.append(.close(code: code, reason: reason))
        case .violation(let code, let reason): output.controls.append(.violation(code: code, reason))
        }
    }
}
