/// Puts the messages of a WebSocket together: the newer server ends a frame at each line break of a document (section 9).
package struct SocketFrames: Sendable {
    package enum Received: Hashable, Sendable {
        case messages([ChannelMessage])
        /// A part of a document.
        case incomplete
        /// What came cannot be read: something was missed. What follows is read again.
        case lost([ChannelMessage])
    }

    /// Bytes of one document.
    package static let maximumSize = 1 << 20
    /// Parts of one document; each is an attempt to read it.
    package static let maximumParts = 64

    private var waiting: [UInt8] = []
    private var parts = 0

    package init() {}

    package mutating func received(_ frame: some Collection<UInt8>) -> Received {
        guard !frame.allSatisfy({ $0 <= 0x20 }) else { return .incomplete }
        let whole = parts == 0 ? Array(frame) : waiting + [0x0A] + frame
        if let messages = Self.messages(whole) {
            clear()
            return .messages(messages)
        }
        // The rest of what waits may never come.
        if parts > 0, let messages = Self.messages(Array(frame)) {
            clear()
            return .lost(messages)
        }
        parts += 1
        guard whole.count <= Self.maximumSize, parts <= Self.maximumParts else {
            clear()
            return .lost([])
        }
        waiting = whole
        return .incomplete
    }

    package mutating func clear() {
        waiting = []
        parts = 0
    }

    private static func messages(_ bytes: [UInt8]) -> [ChannelMessage]? {
        (try? XMLReader.read(bytes)).flatMap { ChannelMessage.list(in: $0) }
    }
}
