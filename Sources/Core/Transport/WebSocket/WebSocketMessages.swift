/// One complete message, with its fragments joined. The bytes are usually a slice of a read's bytes, shared with the
/// neighbouring messages.
package enum WebSocketMessage: Hashable, Sendable {
    /// Valid UTF-8.
    case text(ArraySlice<UInt8>)
    case binary(ArraySlice<UInt8>)
    /// A message that was too large and was skipped, as with ``WebSocketRequest/OversizedMessages/discard``.
    case oversized(byteCount: Int)
}

/// The messages of one read, in order. Most are slices of the read's bytes and use no memory of their own.
package struct WebSocketMessages: Sendable, RandomAccessCollection {
    private enum Item: Sendable {
        case text(start: UInt32, end: UInt32)
        case binary(start: UInt32, end: UInt32)
        /// A message gathered elsewhere or skipped.
        indirect case other(WebSocketMessage)
    }

    package private(set) var chunk: [UInt8]
    private var items: [Item] = []

    /// - Parameter chunk: The bytes of the read; at most 4 GiB.
    package init(of chunk: [UInt8] = []) {
        self.chunk = chunk
    }

    /// Creates messages that are not part of a read.
    package init(_ messages: [WebSocketMessage]) {
        self.init()
        for message in messages { append(message) }
    }

    mutating func append(_ message: WebSocketMessage) { items.append(.other(message)) }

    package mutating func appendPart(_ range: Range<Int>, isText: Bool) {
        let (start, end) = (UInt32(range.lowerBound), UInt32(range.upperBound))
        items.append(isText ? .text(start: start, end: end) : .binary(start: start, end: end))
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { items.count }

    package subscript(index: Int) -> WebSocketMessage {
        switch items[index] {
        case .text(let start, let end): .text(chunk[Int(start)..<Int(end)])
        case .binary(let start, let end): .binary(chunk[Int(start)..<Int(end)])
        case .other(let message): message
        }
    }

    /// Returns the position of a text message in the chunk; nil for other messages and after the last one.
    package func textInChunk(at index: Int) -> Range<Int>? {
        guard index < items.count else { return nil }
        return if case .text(let start, let end) = items[index] { Int(start)..<Int(end) } else { nil }
    }
}
