/// Cuts messages from a server's byte stream, however it is chopped (RFC 6455, sections 5.2 to 5.5).
///
/// Messages are slices of what one read brought, which is not copied. Only fragments, and messages that do not fit into
/// a read, are gathered elsewhere, in buffers that grow with what has really arrived.
struct FrameDecoder: Sendable {
    /// What came in, in two lists: messages in order, and control frames in order. A close or a violation is the last
    /// thing ever.
    struct Output: Sendable {
        var messages: [WebSocketMessage] = []
        var controls: [Control] = []
    }

    enum Control: Sendable {
        case ping([UInt8])
        case pong
        case close(code: UInt16?, reason: String)
        /// The stream is useless from here on; to be answered with this close code.
        case violation(code: UInt16, String)
    }

    /// A message whose fragments are being gathered.
    private struct Fragments {
        let isText: Bool
        var bytes: [UInt8] = []
        var validator = UTF8Validator()
        /// All bytes so far, skipped ones included.
        var byteCount = 0
        var isSkipped = false
    }

    /// A frame of which a part has arrived.
    private struct PartialFrame {
        let header: FrameHeader
        var bytes: [UInt8] = []
        var missing: Int
        var validator = UTF8Validator()
        var isSkipped = false
    }

    /// Times the limit that are skipped rather than refused.
    private static let skippedSizeFactor = 64

    private let maximumMessageSize: Int
    private let oversized: WebSocketRequest.OversizedMessages
    /// The beginning of a frame whose header is not complete: less than 10 bytes.
    private var headerBytes: [UInt8] = []
    private var partial: PartialFrame?
    private var fragments: Fragments?
    private var isEnded = false

    init(maximumMessageSize: Int, oversized: WebSocketRequest.OversizedMessages) {
        self.maximumMessageSize = maximumMessageSize
        self.oversized = oversized
    }

    /// What follows from more bytes.
    mutating func decode(_ chunk: [UInt8], into output: inout Output) {
        guard !isEnded else { return }
        if headerBytes.isEmpty {
            let taken = chunk.withUnsafeBytes { continuePartial($0, into: &output) }
            decode(chunk, from: taken, into: &output)
        } else {
            let joined = headerBytes + chunk  // a header that was cut: rare
            headerBytes = []
            decode(joined, from: 0, into: &output)
        }
    }

    private mutating func decode(_ chunk: [UInt8], from start: Int, into output: inout Output) {
        chunk.withUnsafeBytes { bytes in
            var index = start
            while !isEnded, index < bytes.count {
                switch FrameHeader.parse(bytes, at: index) {
                case .needsMore:
                    headerBytes = Array(chunk[index...])
                    return
                case .violation(let reason):
                    violation(1002, reason, into: &output)
                case .header(let header, let size):
                    index += size
                    guard accepts(header, into: &output) else { return }
                    let end = index + min(header.payloadLength, bytes.count - index)
                    if end - index == header.payloadLength, !isTooLarge(header) {
                        finish(
                            header, chunk[index..<end], UnsafeRawBufferPointer(rebasing: bytes[index..<end]),
                            into: &output)
                    } else {
                        partial = PartialFrame(
                            header: header, missing: header.payloadLength,
                            validator: fragments?.validator ?? UTF8Validator(), isSkipped: isTooLarge(header))
                        _ = continuePartial(UnsafeRawBufferPointer(rebasing: bytes[index..<end]), into: &output)
                    }
                    index = end
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
        guard isTooLarge(header) else { return true }
        let total = header.payloadLength.addingReportingOverflow(fragments?.byteCount ?? 0)
        let skippable = maximumMessageSize.multipliedReportingOverflow(by: Self.skippedSizeFactor)
        switch oversized {
        case .discard where !total.overflow && (skippable.overflow || total.partialValue <= skippable.partialValue):
            return true
        case .discard, .close:
            return violation(
                1009, "a message of more than \(maximumMessageSize) bytes (maximumMessageSize)", into: &output)
        }
    }

    private func isTooLarge(_ header: FrameHeader) -> Bool {
        guard !header.opcode.isControl else { return false }
        return header.payloadLength > maximumMessageSize - (fragments?.byteCount ?? 0)
            || fragments?.isSkipped == true
    }

    @discardableResult
    private mutating func violation(_ code: UInt16, _ reason: String, into output: inout Output) -> Bool {
        isEnded = true
        output.controls.append(.violation(code: code, reason))
        return false
    }

    // MARK: Frames that come in parts

    /// Takes what belongs to the frame under way and returns how many bytes that were.
    private mutating func continuePartial(_ bytes: UnsafeRawBufferPointer, into output: inout Output) -> Int {
        guard var frame = partial else { return 0 }
        partial = nil
        let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(frame.missing))
        frame.missing -= piece.count
        if !frame.isSkipped {
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
        if frame.isSkipped {
            skip(frame.header, into: &output)
        } else {
            frame.bytes.withUnsafeBytes { finish(frame.header, frame.bytes[...], $0, into: &output) }
        }
        return piece.count
    }

    private func isText(_ header: FrameHeader) -> Bool {
        header.opcode == .text || header.opcode == .continuation && fragments?.isText == true
    }

    private mutating func skip(_ header: FrameHeader, into output: inout Output) {
        var message = fragments ?? Fragments(isText: header.opcode == .text)
        message.isSkipped = true
        message.bytes = []
        message.byteCount += header.payloadLength
        fragments = header.isFinal ? nil : message
        if header.isFinal { output.messages.append(.oversized(byteCount: message.byteCount)) }
    }

    // MARK: Whole frames

    @inline(__always)
    private mutating func finish(
        _ header: FrameHeader, _ payload: ArraySlice<UInt8>, _ bytes: UnsafeRawBufferPointer,
        into output: inout Output
    ) {
        switch header.opcode {
        case .text where header.isFinal:
            var validator = UTF8Validator()
            guard validator.accepts(bytes), validator.isComplete else {
                violation(1007, "text that is not UTF-8", into: &output)
                return
            }
            output.messages.append(.text(payload))
        case .binary where header.isFinal:
            output.messages.append(.binary(payload))
        case .text, .binary, .continuation:
            finishFragment(header, bytes, into: &output)
        case .ping: output.controls.append(.ping(Array(payload)))
        case .pong: output.controls.append(.pong)
        case .close: finishClose(bytes, into: &output)
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
        output.messages.append(message.isText ? .text(message.bytes[...]) : .binary(message.bytes[...]))
    }

    private mutating func finishClose(_ bytes: UnsafeRawBufferPointer, into output: inout Output) {
        isEnded = true
        switch CloseFrame(payload: bytes) {
        case .close(let code, let reason): output.controls.append(.close(code: code, reason: reason))
        case .violation(let code, let reason): output.controls.append(.violation(code: code, reason))
        }
    }
}
