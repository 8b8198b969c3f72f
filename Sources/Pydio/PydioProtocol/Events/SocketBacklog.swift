/// The messages of a WebSocket while a mailbox is also still consumed, so that no message is lost in between or taken
/// twice: both deliver the same messages in the same order.
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
    /// Messages consumed from the mailbox that the WebSocket has not delivered; nothing waits then. They may still be
    /// in transit until the WebSocket has answered a ping sent afterwards.
    private var echoes: ArraySlice<ChannelMessage> = []

    /// Handles a mailbox's messages: drops the waiting ones that the WebSocket has also delivered.
    mutating func consumed(_ messages: [ChannelMessage]) {
        guard case .waiting(var waiting) = state, !messages.isEmpty else { return }
        let match = Self.match(waiting, in: messages)
        if let end = match.lastEnd {
            // The WebSocket lags behind the mailbox and will deliver these, too: all of them, if it has delivered
            // nothing yet.
            if echoes.count + messages.count > Self.maximumCount { echoes = [] }
            echoes += messages[end...]
            state = .waiting([])
            return
        }
        waiting.removeFirst(match.overlap)
        echoes = []
        state = .waiting(waiting)
    }

    /// Finds `pattern` in `messages` in linear time, because a server controls the length of both (Knuth, Morris and
    /// Pratt).
    ///
    /// - Returns: The end of its last occurrence, 0 for an empty pattern; and the number of its first messages that are
    ///   the last of `messages`.
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

    /// - Returns: Whether to take a message of the WebSocket now.
    mutating func isToBeTaken(_ message: ChannelMessage) -> Bool {
        if let echo = echoes.firstIndex(of: message) {
            echoes = echoes[(echo + 1)...]
            return false
        }
        echoes = []
        guard case .waiting(var waiting) = state else { return true }
        // The oldest are also in the mailbox.
        if waiting.count >= Self.maximumCount { waiting.removeFirst() }
        waiting.append(message)
        state = .waiting(waiting)
        return false
    }

    /// Handles the WebSocket's answer to a ping sent after all consumed messages.
    ///
    /// - Returns: Whether all later messages are newer than the last poll.
    mutating func answered() -> Bool {
        echoes = []
        if case .live = state { return true } else { return false }
    }

    /// Handles the start of a listing, which includes all earlier changes of nodes.
    mutating func listingBegins() {
        guard case .waiting(let waiting) = state else { return }
        state = .waiting(waiting.filter { if case .nodesDiff = $0 { false } else { true } })
    }

    /// - Returns: The messages to take now.
    mutating func takeOver() -> [ChannelMessage] {
        guard case .waiting(let waiting) = state else { return [] }
        state = .live
        return waiting
    }

    mutating func handBack() {
        if case .live = state { state = .waiting([]) }
    }
}
