/// What a WebSocket brings while a mailbox is still consumed as well, so that nothing is lost in between, and nothing is
/// taken twice: both bring the same messages in the same order.
///
///     mailbox   a b c d ┊            consumed for the last time
///     WebSocket     c d e ┊ f        registered before that
struct SocketBacklog: Sendable {
    private enum State {
        case waiting([ChannelMessage])
        case live
    }

    static let maximumCount = 10_000

    private var state = State.waiting([])
    /// What was consumed and has not come through the WebSocket; nothing waits then. It may still be on its way until the
    /// WebSocket has answered a ping that was sent afterwards.
    private var echoes: ArraySlice<ChannelMessage> = []

    /// A mailbox's messages: those that the WebSocket has brought as well are dropped here.
    mutating func consumed(_ messages: [ChannelMessage]) {
        guard case .waiting(var waiting) = state, !messages.isEmpty else { return }
        let match = Self.match(waiting, in: messages)
        if let end = match.lastEnd {
            // The WebSocket is behind the mailbox: it brings what follows as well. With nothing yet, that may be all.
            if echoes.count + messages.count > Self.maximumCount { echoes = [] }
            echoes += messages[end...]
            state = .waiting([])
            return
        }
        waiting.removeFirst(match.overlap)
        echoes = []
        state = .waiting(waiting)
    }

    /// Where `pattern` stands in `messages`, in steps of their number together: both are as long as a server likes
    /// (Knuth, Morris and Pratt).
    ///
    /// - Returns: Where its last occurrence ends; 0 for an empty one. How many of its first messages are the last of
    ///   `messages`.
    private static func match(
        _ pattern: [ChannelMessage], in messages: [ChannelMessage]
    ) -> (lastEnd: Int?, overlap: Int) {
        guard !pattern.isEmpty else { return (0, 0) }
        var borders = [0]
        var length = 0
        for message in pattern.dropFirst() {
            while length > 0, pattern[length] != message { length = borders[length - 1] }
            if pattern[length] == message { length += 1 }
            borders.append(length)
        }
        var (lastEnd, matched): (Int?, Int) = (nil, 0)
        for (index, message) in messages.enumerated() {
            while matched > 0, matched == pattern.count || pattern[matched] != message {
                matched = borders[matched - 1]
            }
            if pattern[matched] == message { matched += 1 }
            if matched == pattern.count { lastEnd = index + 1 }
        }
        return (lastEnd, matched)
    }

    /// - Returns: Whether a message of the WebSocket counts now.
    mutating func isToBeTaken(_ message: ChannelMessage) -> Bool {
        if let echo = echoes.firstIndex(of: message) {
            echoes = echoes[(echo + 1)...]
            return false
        }
        echoes = []
        guard case .waiting(var waiting) = state else { return true }
        // The oldest are in the mailbox all the same.
        if waiting.count >= Self.maximumCount { waiting.removeFirst() }
        waiting.append(message)
        state = .waiting(waiting)
        return false
    }

    /// The WebSocket has answered a ping that was sent after all that was consumed.
    ///
    /// - Returns: Whether all that it brings from now on is newer than the last poll.
    mutating func answered() -> Bool {
        echoes = []
        if case .live = state { return true } else { return false }
    }

    /// The workspace is listed from now on: what has happened to its nodes before is in the listing.
    mutating func listingBegins() {
        guard case .waiting(let waiting) = state else { return }
        state = .waiting(waiting.filter { if case .nodesDiff = $0 { false } else { true } })
    }

    /// - Returns: What counts now.
    mutating func takeOver() -> [ChannelMessage] {
        guard case .waiting(let waiting) = state else { return [] }
        state = .live
        return waiting
    }

    mutating func handBack() {
        if case .live = state { state = .waiting([]) }
    }
}
