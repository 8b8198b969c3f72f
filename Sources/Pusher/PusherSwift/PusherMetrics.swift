import Basics
import PusherProtocol

#if MetricsSupport
    public import Metrics

    /// Metrics that a client records with swift-metrics. Without them, nothing is recorded at no cost.
    ///
    /// Labels, after the prefix: `messages.received`, `bytes.received`, `messages.sent`, `events.received`, `errors`,
    /// `events.dropped` (undecryptable, of unknown channels, malformed, or too many for a sequence), `reconnects`,
    /// `reading.holds` (sequences and callbacks that have stopped receiving for longer than the activity timeout), and
    /// the timers `ping.latency` and `reading.held` (the total duration of such a hold).
    public struct PusherMetrics: Sendable {
        private let messagesReceived: Counter
        private let bytesReceived: Counter
        private let messagesSent: Counter
        private let eventsReceived: Counter
        private let eventsDropped: Counter
        private let errors: Counter
        private let reconnects: Counter
        private let readingHolds: Counter
        private let pingLatency: Metrics.Timer
        private let readingHeld: Metrics.Timer

        /// - Parameters:
        ///   - prefix: A prefix for each label.
        ///   - dimensions: Dimensions of every metric, to tell clients apart.
        ///   - factory: The metrics factory. Default: the one that the program has bootstrapped.
        public init(
            prefix: String = "pusher.client", dimensions: [(String, String)] = [],
            factory: any MetricsFactory = MetricsSystem.factory
        ) {
            func counter(_ name: String) -> Counter {
                Counter(label: "\(prefix).\(name)", dimensions: dimensions, factory: factory)
            }
            messagesReceived = counter("messages.received")
            bytesReceived = counter("bytes.received")
            messagesSent = counter("messages.sent")
            eventsReceived = counter("events.received")
            eventsDropped = counter("events.dropped")
            errors = counter("errors")
            reconnects = counter("reconnects")
            readingHolds = counter("reading.holds")
            func timer(_ name: String) -> Metrics.Timer {
                Metrics.Timer(label: "\(prefix).\(name)", dimensions: dimensions, factory: factory)
            }
            pingLatency = timer("ping.latency")
            readingHeld = timer("reading.held")
        }

        func received(messages: Int, bytes: Int) {
            messagesReceived.increment(by: messages)
            bytesReceived.increment(by: bytes)
        }

        func sent() { messagesSent.increment() }

        func dropped() { eventsDropped.increment() }

        /// Records a batch on its way to the callbacks.
        func delivered(_ notices: [ClientMachine.Notice]) {
            var events = 0
            for notice in notices {
                switch notice {
                case .events(let batch): events += batch.count
                case .stateChanged(_, .reconnecting): reconnects.increment()
                case .pingAnswered(let latency): pingLatency.recordNanoseconds(latency.wholeNanoseconds)
                case .readingHeld: readingHolds.increment()
                case .readingResumed(_, let duration): readingHeld.recordNanoseconds(duration.wholeNanoseconds)
                case .decryptionFailed: dropped()
                case .subscriptionFailed, .signInFailed: errors.increment()
                case .error(let error):
                    errors.increment()
                    if error.isOfDroppedEvent { dropped() }
                case .stateChanged, .subscribed, .memberAdded, .memberRemoved, .subscriptionCount, .gap, .signedIn,
                    .watchlistChanged, .sourceStateChanged:
                    break
                }
            }
            if events > 0 { eventsReceived.increment(by: events) }
        }
    }

    extension PusherError {
        /// Undecryptable events have their own notice.
        fileprivate var isOfDroppedEvent: Bool { kind == .malformedMessage || kind == .unknownChannel }
    }
#else
    /// A placeholder when the package trait `MetricsSupport` is off; never instantiated.
    struct PusherMetrics: Sendable {
        func received(messages: Int, bytes: Int) {}
        func sent() {}
        func dropped() {}
        func delivered(_ notices: [ClientMachine.Notice]) {}
    }
#endif
