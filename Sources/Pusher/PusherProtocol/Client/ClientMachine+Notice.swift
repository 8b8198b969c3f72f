package import Basics
package import Realtime
import Transport

extension ClientMachine {
    /// What the application is told. The rare cases are indirect: a notice is as large as its largest case, and nearly
    /// all are events.
    package enum Notice: Sendable {
        case stateChanged(from: ConnectionState, to: ConnectionState)
        /// For the bindings.
        case events(EventBatch)
        case subscribed(EventRouter.ChannelID, name: String)
        /// - Parameter event: The `pusher:subscription_error` for the bindings.
        indirect case subscriptionFailed(EventRouter.ChannelID, PusherError, AuthFailure?, event: RealtimeEvent)
        /// The event as it came, with its encrypted data.
        indirect case decryptionFailed(EventRouter.ChannelID, RealtimeEvent)
        indirect case memberAdded(EventRouter.ChannelID, PresenceMembers.Member)
        indirect case memberRemoved(EventRouter.ChannelID, PresenceMembers.Member)
        case subscriptionCount(EventRouter.ChannelID, Int)
        /// The channel is subscribed again; what was published in between did not come.
        case gap(EventRouter.ChannelID, name: String, from: MonotonicInstant, to: MonotonicInstant)
        indirect case signedIn(SignedInUser)
        /// - Parameter event: The `pusher:signin_error` for the user's bindings.
        indirect case signInFailed(PusherError, event: RealtimeEvent)
        indirect case watchlistChanged(WatchlistChange)
        case pingAnswered(after: Duration)
        /// Of a source that is attached.
        indirect case sourceStateChanged(SourceState)
        /// Nothing has been received for long, since somebody takes events too slowly.
        indirect case readingHeld(PusherError)
        /// That has ended.
        indirect case readingResumed(PusherError, after: Duration)
        indirect case error(PusherError)
    }

    /// Notices in order, successive events of one read as one.
    struct NoticeQueue: Sendable {
        private var notices: [Notice] = []
        /// The last notice, as long as more events may join it.
        private var batch: EventBatch?

        mutating func append(_ notice: Notice) {
            closeBatch()
            notices.append(notice)
        }

        mutating func append(_ event: RealtimeEvent, on channel: EventRouter.ChannelID?) {
            openBatch(of: event.bytes, expecting: 1)
            batch?.append(event, on: channel)
        }

        /// The messages from `index` on, up to the first whose frame does not begin with `head`: its index is returned.
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
