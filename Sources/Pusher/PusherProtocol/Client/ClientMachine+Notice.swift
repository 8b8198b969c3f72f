package import Basics
package import Realtime
import Transport

extension ClientMachine {
    /// A notice to the application. Rare cases are indirect: a notice is as large as its largest case, and nearly all
    /// are events.
    package enum Notice: Sendable {
        case stateChanged(from: ConnectionState, to: ConnectionState)
        /// Events for the bindings.
        case events(EventBatch)
        case subscribed(EventRouter.ChannelID, name: String)
        /// - Parameter event: The `pusher:subscription_error` for the bindings.
        indirect case subscriptionFailed(EventRouter.ChannelID, PusherError, AuthFailure?, event: RealtimeEvent)
        /// The event as received, with its encrypted data.
        indirect case decryptionFailed(EventRouter.ChannelID, RealtimeEvent)
        indirect case memberAdded(EventRouter.ChannelID, PresenceMembers.Member)
        indirect case memberRemoved(EventRouter.ChannelID, PresenceMembers.Member)
        case subscriptionCount(EventRouter.ChannelID, Int)
        /// The channel is subscribed again; events published in between were missed.
        case gap(EventRouter.ChannelID, name: String, from: MonotonicInstant, to: MonotonicInstant)
        indirect case signedIn(SignedInUser)
        /// - Parameter event: The `pusher:signin_error` for the user's bindings.
        indirect case signInFailed(PusherError, event: RealtimeEvent)
        indirect case watchlistChanged(WatchlistChange)
        case pingAnswered(after: Duration)
        indirect case sourceStateChanged(SourceState)
        /// Reading has been paused for long because a reader is too slow.
        indirect case readingHeld(PusherError)
        /// The pause has ended.
        indirect case readingResumed(PusherError, after: Duration)
        indirect case error(PusherError)
    }

    /// A queue of notices; successive events of one read form one notice.
    struct NoticeQueue: Sendable {
        private var notices: [Notice] = []
        /// The last notice, while more events may join it.
        private var batch: EventBatch?

        mutating func append(_ notice: Notice) {
            closeBatch()
            notices.append(notice)
        }

        mutating func append(_ event: RealtimeEvent, on channel: EventRouter.ChannelID?) {
            openBatch(of: event.bytes, expecting: 1)
            batch?.append(event, on: channel)
        }

        /// Appends the messages from `index` on, up to the first whose frame does not begin with `head`, and returns
        /// its index.
        mutating func append(_ messages: WebSocketMessages, from index: Int, like head: EventHead) -> Int {
            let first = index
            var index = index
            while let frame = messages.textInChunk(at: index), FrameScanner.isEvent(messages.chunk, frame, like: head) {
                openBatch(of: messages.chunk, expecting: messages.count - index)
                if index == first { batch?.begin(head) }
                batch?.append(frame)
                index += 1
            }
            return index
        }

        private mutating func openBatch(of bytes: [UInt8], expecting count: Int) {
            if batch?.isOf(bytes) == true { return }
            closeBatch()
            batch = EventBatch(of: bytes, expecting: count)
        }

        private mutating func closeBatch() {
            if let batch { notices.append(.events(batch)) }
            batch = nil
        }

        mutating func take() -> [Notice] {
            closeBatch()
            defer { notices = [] }
            return notices
        }
    }
}
