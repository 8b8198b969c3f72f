/// One whole message, its fragments joined. The bytes are usually a slice of what one read brought in, shared with
/// the messages around it.
package enum WebSocketMessage: Hashable, Sendable {
    /// Valid UTF-8.
    case text(ArraySlice<UInt8>)
    case binary(ArraySlice<UInt8>)
    /// Too large, and skipped as ``WebSocketRequest/OversizedMessages/discard`` asks.
    case oversized(byteCount: Int)
}

/// Messages of one read, in order. Most lie in the read's bytes as they are, and cost no memory of their own.
package struct WebSocketMessages: Sendable, RandomAccessCollection {
    private enum Item: Sendable {
        case text(start: UInt32, end: UInt32)
        case binary(start: UInt32, end: UInt32)
        /// Gathered elsewhere, or none at all.
        indirect case other(WebSocketMessage)
    }

    /// What the read brought.
    package private(set) var chunk: [UInt8]
    private var items: [Item] = []

    /// - Parameter chunk: At most 4 GiB.
    package init(of chunk: [UInt8] = []) {
        self.chunk = chunk
    }

    /// Messages that come from no read.
    package init(_ messages: [WebSocketMessage]) {
        self.init()
        for message in messages { append(message) }
    }

    mutating func append(_ message: WebSocketMessage) { items.append(.other(message)) }

    /// A message that is a part of the chunk.
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

    /// Where in the chunk a text message lies; nil for others, and behind the last.
    package func textInChunk(at index: Int) -> Range<Int>? {
        guard index < items.count else { return nil }
        return if case .text(let start, let end) = items[index] { Int(start)..<Int(end) } else { nil }
    }
}
