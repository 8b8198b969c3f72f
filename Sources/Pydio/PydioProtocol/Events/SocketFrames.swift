/// Assembles the messages of a WebSocket: the newer server ends a frame at each line break of a document (section 9).
package struct SocketFrames: Sendable {
    package enum Received: Hashable, Sendable {
        case messages([ChannelMessage])
        /// A part of a document.
        case incomplete
        /// The received data cannot be read, so something was missed. Later data is read again.
        case lost([ChannelMessage])
    }

    /// The maximum bytes of one document.
    package static let maximumSize = 1 << 20
    /// The maximum parts of one document. Each part that may be the last causes an attempt to read it.
    package static let maximumParts = 64

    private var waiting: [UInt8] = []
    private var parts = 0
    /// Whether the document was already pending at the last answer to a ping.
    private var isLate = false

    package init() {}

    package mutating func received(_ frame: some Collection<UInt8>) -> Received {
        guard !frame.allSatisfy({ $0 <= 0x20 }) else { return .incomplete }
        let isFirst = parts == 0
        if !isFirst { waiting.append(0x0A) }
        waiting += frame
        if isFirst || DocumentEnd.isPossible(in: waiting), let messages = Self.messages(waiting) {
            clear()
            return .messages(messages)
        }
        // The rest of the pending document may never arrive.
        if !isFirst, let messages = Self.messages(Array(frame)) {
            clear()
            return .lost(messages)
        }
        parts += 1
        guard waiting.count <= Self.maximumSize, parts <= Self.maximumParts else {
            clear()
            return .lost([])
        }
        return .incomplete
    }

    /// Handles the answer to a ping, before which everything that the peer sent earlier has arrived.
    ///
    /// - Returns: Whether the rest of a document has not arrived since the previous answer. It will then never arrive,
    ///   and would corrupt later documents.
    package mutating func answered() -> Bool {
        guard parts > 0 else { return false }
        guard isLate else {
            isLate = true
            return false
        }
        clear()
        return true
    }

    package mutating func clear() {
        waiting = []
        parts = 0
        isLate = false
    }

    private static func messages(_ bytes: [UInt8]) -> [ChannelMessage]? {
        (try? XMLReader.read(bytes)).flatMap { ChannelMessage.list(in: $0) }
    }
}

/// Checks by the last tag whether a document may be complete: parsing everything again with each part would take
/// quadratic time.
private enum DocumentEnd {
    static func isPossible(in bytes: [UInt8]) -> Bool {
        guard let root = rootName(in: bytes) else { return true }
        let end = trimmed(bytes[...])
        guard end.last == UInt8(ascii: ">") else { return false }
        let tag = trimmed(end.dropLast())
        switch tag.last {
        // The root itself, if its tag is still open.
        case UInt8(ascii: "/"): return !tag[root.endIndex...].contains(UInt8(ascii: ">"))
        // A comment after it.
        case UInt8(ascii: "-"): return true
        default:
            let start = tag.dropLast(root.count)
            return tag.suffix(root.count).elementsEqual(root) && start.suffix(2).elementsEqual("</".utf8)
        }
    }

    /// Returns the name of the first element.
    private static func rootName(in bytes: [UInt8]) -> ArraySlice<UInt8>? {
        var rest = bytes[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = bytes[(start + 1)...]
            // Skip declarations and comments.
            guard let first = rest.first, first != UInt8(ascii: "?"), first != UInt8(ascii: "!") else { continue }
            return rest.prefix { $0 > 0x20 && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") }
        }
        return nil
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return bytes
    }
}
