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
        let lastStart = messages.count - waiting.count
        if lastStart >= 0, let start = (0...lastStart).last(where: { messages[$0...].starts(with: waiting) }) {
            // The WebSocket is behind the mailbox: it brings what follows as well. With nothing yet, that may be all.
            if echoes.count + messages.count > Self.maximumCount { echoes = [] }
            echoes += messages[(waiting.isEmpty ? 0 : start + waiting.count)...]
            state = .waiting([])
            return
        }
        var common = min(messages.count, waiting.count)
        while !messages.suffix(common).elementsEqual(waiting.prefix(common)) { common -= 1 }
        waiting.removeFirst(common)
        echoes = []
        state = .waiting(waiting)
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
