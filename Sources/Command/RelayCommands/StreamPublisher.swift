#if NATSRelay
    import CommandKit
    import Basics
    import EventRelay
    import PusherHTTP
    import PusherSwift

    /// Triggers the events of a stream through the HTTP API in batches. Events that arrive during a request are sent
    /// with the next one.
    ///
    /// An event is acknowledged once it is published. It is published again if it is uncertain whether it was: at least
    /// once.
    final class StreamPublisher: Sendable {

        private struct State: Sendable {
            var waiting: ArraySlice<ConsumedEvent<RealtimeEvent>> = []
            /// The events being sent or retried.
            var batch: [ConsumedEvent<RealtimeEvent>] = []
            var wake: AsyncStream<Void>.Continuation?
            var isStopping = false
            /// The error that ended reading.
            var end: NATSError?
            var published = 0
            var repeated = 0
            var refused = 0
        }

        private static let pause = Duration.milliseconds(100)
        private static let longestPause = Duration.seconds(10)

        private let consumer: EventConsumer
        private let api: HTTPAPI
        /// The channel; `nil` uses that of each event.
        private let channel: String?
        private let state = Lock(State())

        init(_ consumer: EventConsumer, api: HTTPAPI, channel: String?) {
            (self.consumer, self.api, self.channel) = (consumer, api, channel)
        }

        /// - Throws: If the server denies access. Unacknowledged events are delivered again next time.
        func run() async throws {
            let (news, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let events = consumer.events()
            let refreshTimer = RefreshTimer()
            let reading = Task {
                for await message in events {
                    state.withLock { $0.waiting.append(message) }
                    // Waiting events are not delivered to others.
                    refreshTimer.set(for: message.ackWait) { [weak self] in await self?.refresh() }
                    signal.yield()
                }
                signal.finish()
            }
            let failures = consumer.errors
            let telling = Task {
                for await failure in failures {
                    if !failure.willRetry, let error = failure.underlying as? NATSError {
                        state.withLock { $0.end = error }
                        signal.finish()
                    } else {
                        StandardError.write(
                            "warning: \(Complaint.text(failure.message))\(failure.willRetry ? "; trying again" : "")")
                    }
                }
            }
            state.withLock { $0.wake = signal }
            defer {
                for task in [reading, telling] { task.cancel() }
                refreshTimer.end()
            }
            do {
                for await _ in news {
                    while case let batch = nextBatch(), !batch.isEmpty { try await publish(batch) }
                    if state.withLock({ $0.isStopping }) { break }
                }
            } catch {
                await finish(reading)
                throw error
            }
            await finish(reading)
            let (published, repeated, refused) = state.withLock { ($0.published, $0.repeated, $0.refused) }
            let count = published == 1 ? "1 event" : "\(published) events"
            StandardError.write(
                "published \(count), \(repeated) of which may have been published before, and refused \(refused)")
            if let end = state.withLock({ $0.end }) { throw end }
            if refused > 0 { throw CommandFailure(.badData, "not all events could be published") }
        }

        /// Returns unpublished events to the stream once reading has ended, and sends the remaining answers.
        private func finish(_ reading: Task<Void, Never>) async {
            reading.cancel()
            await reading.value
            for message in state.withLock({ $0.waiting + $0.batch }) { try? await message.nak() }
            await consumer.shutDown()
        }

        private func refresh() async {
            for message in state.withLock({ $0.waiting + $0.batch }) { try? await message.inProgress() }
        }

        /// Completes the pending request and stops.
        func stop() {
            let wake = state.withLock { state in
                state.isStopping = true
                return state.wake
            }
            wake?.yield()
        }

        private func nextBatch() -> [ConsumedEvent<RealtimeEvent>] {
            state.withLock { state in
                guard !state.isStopping else { return [] }
                let batch = state.waiting.prefix(PusherHTTPClient.maximumBatch)
                state.waiting.removeFirst(batch.count)
                state.batch = Array(batch)
                return state.batch
            }
        }

        private func publish(_ batch: [ConsumedEvent<RealtimeEvent>]) async throws {
            for message in batch where message.isRedelivered {
                StandardError.write("warning: \(message) was delivered before: it may be published twice")
            }
            let events = batch.map { message in
                PusherHTTPClient.BatchEvent(
                    channel: channel ?? message.event.channelName ?? "", event: message.event.eventName,
                    data: message.event.data ?? "")
            }
            var pause = Self.pause
            while true {
                do throws(PusherHTTPError) {
                    _ = try await api.ask { (client) throws(PusherHTTPError) in try await client.triggerBatch(events) }
                    state.withLock { state in
                        state.published += batch.count
                        state.repeated += batch.count { $0.isRedelivered }
                    }
                    for message in batch { try? await message.ack() }  // unacknowledged events are delivered again
                    return
                } catch {
                    switch error.kind {
                    case .refused: throw error
                    case .rejected where error.status == 404: throw error
                    case .invalidArgument, .rejected: return try await refuse(batch, error)
                    case .unreachable, .serverFailure, .unexpectedAnswer:
                        if pause == Self.pause { StandardError.write("warning: \(error); trying again") }
                    @unknown default: throw error
                    }
                }
                if state.withLock({ $0.isStopping }) { return }
                try await Task.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }

        /// Publishes the events of a batch one by one, because one of them is invalid.
        private func refuse(_ batch: [ConsumedEvent<RealtimeEvent>], _ error: PusherHTTPError) async throws {
            guard batch.count == 1, let message = batch.first else {
                for message in batch { try await publish([message]) }
                return
            }
            StandardError.write("error: \(message) is not published: \(error)")
            state.withLock { $0.refused += 1 }
            try? await message.terminate()
        }
    }
#endif
