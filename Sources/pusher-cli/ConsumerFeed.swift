#if NATSRelay
    import Basics
    import EventRelay
    import PusherSwift

    /// Events of a stream of NATS JetStream that are to be printed. An event is acknowledged once it is written, or its command
    /// has begun.
    final class ConsumerFeed: Feed {
        private struct State: Sendable {
            var tasks: [Task<Void, Never>] = []
            /// Told, and not written yet.
            var waiting: ArraySlice<ConsumedEvent<RealtimeEvent>> = []
            var connection = ConnectionState.disconnected
            var failure: String?
        }

        private let consumer: EventConsumer
        private let event: String?
        private let state = Lock(State())
        let serverName: String

        /// - Parameter event: Nil for all names.
        init(_ consumer: EventConsumer, event: String?, serverName: String) {
            (self.consumer, self.event, self.serverName) = (consumer, event, serverName)
        }

        func start(
            _ report: @escaping @Sendable (FeedReport) -> Void, failed: @escaping @Sendable (any Error) -> Void
        ) {
            let (states, failures, gaps) = (consumer.states, consumer.errors, consumer.gaps)
            let events = consumer.events(event)
            func tell(_ news: FeedReport) async {
                await withCheckedContinuation { continuation in
                    EventStream.queue.async {
                        report(news)
                        continuation.resume()
                    }
                }
            }
            let tasks = [
                Task { for await state in states { await tell(.state(state)) } },
                Task { for await failure in failures { await tell(.failed(failure)) } },
                Task { for await gap in gaps { await tell(.gap(gap)) } },
                Task { [weak self] in
                    for await message in events {
                        self?.state.withLock { $0.waiting.append(message) }
                        await tell(.event(message.event))
                    }
                },
            ]
            state.withLock { $0.tasks = tasks }
        }

        func close() {
            state.withLock { $0.tasks }.forEach { $0.cancel() }
            let late = consumer.lateEventCount
            consumer.close()
            guard late > 0 else { return }
            StandardError.write("\(late) events were left out that an earlier owner of their channels wrote too late")
        }

        func wrote(_ event: RealtimeEvent) {
            guard let message = state.withLock({ $0.waiting.popFirst() }) else { return }
            Task { try? await message.ack() }  // what is not acknowledged comes again
        }

        // MARK: What comes

        func news(of event: RealtimeEvent, forPeople: Bool) -> FeedNews? {
            // Events are told one by one: it is the newest.
            let message = state.withLock { $0.waiting.last }
            return message.map { message in
                let record = Record.consumed(
                    event, sequence: message.sequence, deliveries: message.deliveries,
                    mayBeRepeated: message.mayBeRepeated)
                return FeedNews(record: record, counts: true)
            }
        }

        func news(of change: SourceState) -> FeedNews? {
            let (old, new) = state.withLock { state in
                defer { state.connection = change.connectionState }
                return (state.connection, change.connectionState)
            }
            guard old != new else { return nil }
            if new == .connected { state.withLock { $0.failure = nil } }
            return FeedNews(
                record: .state(from: old, to: new, socketID: nil), isConnected: new == .connected)
        }

        func wants(_ gap: SourceGap) -> Bool { true }

        func isNew(_ failure: SourceFailure) -> Bool {
            state.withLock { state in
                defer { state.failure = failure.message }
                return state.failure != failure.message
            }
        }

        func end(by failure: SourceFailure) -> ExitStatus? {
            guard !failure.willRetry, let error = failure.underlying as? NATSError else { return nil }
            switch error.kind {
            case .authentication, .permission, .invalidArgument, .tls, .unsupportedServer, .differentSettings:
                return error.exitStatus
            // Of one message, mostly: the others go on.
            default: return nil
            }
        }

        var isFailing: Bool { state.withLock { $0.failure != nil && $0.connection != .connected } }
    }
#endif
