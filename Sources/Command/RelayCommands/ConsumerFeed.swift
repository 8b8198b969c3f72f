#if NATSRelay
    import CommandKit
    import CurlTransport
    import Basics
    import EventRelay
    import PusherSwift

    /// Prints the events of a NATS JetStream stream or passes them to a command. An event is acknowledged once it is
    /// written or its command has succeeded. If the command fails, the event is returned to the stream with an
    /// increasing delay.
    final class ConsumerFeed: Feed {
        /// The settings for running commands with events.
        struct Commands: Sendable {
            /// The maximum number of concurrent commands.
            let jobs: Int
            /// The number of failures after which an event becomes a dead letter.
            let maximumDeliveries: Int
        }

        /// An event whose outcome is pending.
        private struct Open: Sendable {
            let message: ConsumedEvent<RealtimeEvent>
            let start: MonotonicInstant
            var isTold = false
        }

        private struct State: Sendable {
            var tasks: [Task<Void, Never>] = []
            var open: [Int: Open] = [:]
            var lastNumber = 0
            /// The caller waiting until fewer events are pending.
            var turn: CheckedContinuation<Void, Never>?
            var isClosing = false
            var connection = ConnectionState.disconnected
            var failure: String?
        }

        private typealias Send = @Sendable () async throws -> Void

        private static let longestPause = Duration.seconds(300)

        private let consumer: EventConsumer
        private let event: String?
        private let refreshTimer = RefreshTimer()
        /// The commands; `nil` if events are printed.
        private let commands: Commands?
        private let hasGroup, dropsLate: Bool
        private let state = Lock(State())
        private let (sends, sender) = AsyncStream.makeStream(of: Send.self)
        private let sending: Task<Void, Never>
        let serverName: String

        /// - Parameters:
        ///   - options: The options of the consumer.
        ///   - event: The event name; `nil` for all.
        ///   - commands: The commands; `nil` if events are printed.
        init(
            _ consumer: EventConsumer, _ options: EventConsumerOptions, event: String?, commands: Commands?,
            serverName: String
        ) {
            (self.consumer, self.event, self.commands, self.serverName) = (consumer, event, commands, serverName)
            (hasGroup, dropsLate) = (options.group != nil, options.late == .drop)
            sending = Task { [sends] in
                for await send in sends { try? await send() }  // unacknowledged events are delivered again
            }
        }

        func start(
            _ report: @escaping @Sendable (FeedReport) -> Void, failed: @escaping @Sendable (any Error) -> Void
        ) {
            let (states, failures) = (consumer.states, consumer.errors)
            let events = consumer.events(event, includingGaps: true)
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
                Task { [weak self] in
                    for await message in events {
                        guard let news = self?.news(of: message) else { return }
                        await tell(.news(news))
                        await self?.turn()
                    }
                },
            ]
            state.withLock { $0.tasks = tasks }
        }

        /// Returns events whose command has not started.
        func close() {
            let (tasks, turn) = state.withLock { state in
                state.isClosing = true
                defer { state.turn = nil }
                return (state.tasks, state.turn)
            }
            tasks.forEach { $0.cancel() }
            turn?.resume()
        }

        func finish() async {
            refreshTimer.end()  // running commands have held their events until now
            let open = state.withLock { $0.open }
            for number in open.keys.sorted() { _ = answer(number, .notBegun) }
            sender.finish()
            await sending.value
            let late = dropsLate ? consumer.lateEventCount : 0
            await consumer.shutDown()
            guard late > 0 else { return }
            StandardError.write(
                """
                skipped \(late == 1 ? "1 event" : "\(late) events"), which a previous owner of the channel wrote too late
                """)
        }

        // MARK: Pending events

        private func news(of message: ConsumedEvent<RealtimeEvent>) -> FeedNews {
            let number = state.withLock { state in
                state.lastNumber += 1
                state.open[state.lastNumber] = Open(message: message, start: .now)
                return state.lastNumber
            }
            if hasGroup || commands != nil { refreshTimer.set(for: message.ackWait) { [weak self] in self?.refresh() } }
            let gap = message.gap.map { ConsumedRecord.Gap(start: $0.start, end: $0.end, reason: $0.reason) }
            let record = ConsumedRecord(
                event: message.event, gap: gap, time: message.relayTime ?? message.time, sequence: message.sequence,
                deliveries: message.deliveries, mayBeRepeated: message.mayBeRepeated)
            return FeedNews(record: .consumed(record), counts: gap == nil) { [weak self] in self?.answer(number, $0) }
        }

        /// Waits until the next event may be fetched.
        private func turn() async {
            guard let jobs = commands?.jobs else { return }
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    let isFree = state.isClosing || state.open.count < jobs
                    if !isFree { state.turn = continuation }
                    return isFree
                }
                if isFree { continuation.resume() }
            }
        }

        private func answer(_ number: Int, _ outcome: EventOutcome) -> TerminalText? {
            let (open, turn, isClosing) = state.withLock { state in
                let open = state.open.removeValue(forKey: number)
                defer { state.turn = nil }
                return (open, state.turn, state.isClosing)
            }
            turn?.resume()
            guard let message = open?.message else { return nil }
            switch outcome {
            case .handled:
                sender.yield { try await message.ack() }
                return nil
            case .notBegun:
                sender.yield { try await message.nak() }
                return nil
            case .failed:
                guard hasGroup, let commands else { return nil }
                if message.deliveries >= commands.maximumDeliveries {
                    sender.yield { await Self.putAside(message) }
                    return "message \(Int(clamping: message.sequence)) becomes a dead letter"
                }
                if isClosing {
                    sender.yield { try await message.nak() }
                    return "it is given back"
                }
                let pause = min(.seconds(1 << min(message.deliveries - 1, 20)), Self.longestPause)
                sender.yield { try await message.nak(after: pause) }
                return "it is delivered again in \(pause.components.seconds) s"
            }
        }

        private static func putAside(_ message: ConsumedEvent<RealtimeEvent>) async {
            do throws(NATSError) {
                try await message.putAside("its command failed")
            } catch {
                StandardError.write(
                    """
                    error: message \(Int(clamping: message.sequence)) did not become a dead letter, and is delivered again: \
                    \(error.description)
                    """)
            }
        }

        /// Keeps pending events from being delivered to others, and reports a command that takes long.
        private func refresh() {
            let (messages, slow) = state.withLock { state in
                let slow = state.open.filter { !$1.isTold && .now - $1.start >= $1.message.ackWait }
                for number in slow.keys { state.open[number]?.isTold = true }
                return (state.open.values.map(\.message), commands == nil ? [] : slow.values.map(\.message))
            }
            for message in messages { sender.yield { try await message.inProgress() } }
            for message in slow where message.gap == nil {
                let rest: TerminalText = hasGroup ? "; no other worker gets the event" : ""
                StandardError.write(
                    """
                    warning: the command for event “\(message.event.eventName)” of channel \(message.event.channelName ?? "-") is \
                    still running after \(message.ackWait.components.seconds) s\(rest)
                    """)
            }
        }

        // MARK: Other reports

        /// Events arrive as news.
        func news(of event: RealtimeEvent, forPeople: Bool) -> FeedNews? { nil }

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

        /// A NATS error that is not retried ends the reader.
        func end(by failure: SourceFailure) -> ExitStatus? {
            failure.willRetry ? nil : (failure.underlying as? NATSError)?.exitStatus
        }

        var isFailing: Bool { state.withLock { $0.failure != nil && $0.connection != .connected } }
    }
#endif
