import Basics
import CNATS
package import CurlTransport
import JSONBytes
import Realtime
package import RelayProtocol

/// A message with JetStream's delivery information.
package struct Delivery: Sendable {
    package let message: IncomingMessage
    package let info: DeliveryInfo

    var byteCount: Int { message.payload.count + message.subject.utf8.count }
}

/// Reads a stream with a consumer, and recovers from any failure of the servers.
@NetworkActor
package final class PullReader: Shell {
    package enum Report: Sendable {
        /// The consumer was found or created.
        ///
        /// - Parameter ackWait: The time after which the servers redeliver a message without an ack.
        case began(pending: Int, ackWait: Duration)
        /// The consumer was gone from the servers and was created again, starting at this message.
        case remade(from: UInt64)
        /// The stream was deleted and created again, so knowledge of the old one is obsolete.
        case streamIsNew
        /// Messages. Report with ``PullReader/taken(_:bytes:)`` when they are processed.
        case delivered([Delivery])
        /// An error; each kind is reported once until it works again.
        case failed(NATSError, willRetry: Bool)
    }

    package nonisolated let driver: Driver<PullMachine>
    package nonisolated let connection: NATSConnection
    private nonisolated let stream: String
    private nonisolated let settings: ConsumerSettings
    private nonisolated let headers: [String]
    private nonisolated let onReport: @Sendable @NetworkActor (Report) -> Void
    private nonisolated let calls = BlockingCalls("nats.reader")
    private nonisolated let looks = BlockingCalls("nats.looks")
    private nonisolated let observation = Lock<Int?>(nil)

    private var subscription: NATSSubscription?
    private var inbox = ""
    private var consumer = ""
    private var lastConsumerSequence: UInt64 = 0
    /// The stream position after which a consumer that is not durable resumes, unless it starts with the last message
    /// of each subject.
    private var position: UInt64?
    /// The time at which that message was stored, in nanoseconds since 1970: in a new stream, smaller numbers are
    /// newer.
    private var positionTime: Int64 = 0
    /// The time at which the message at that position was stored, if it arrived here.
    private var lastTime: Int64?
    /// Whether the stream has another message at that position, or ends before it. New messages are then identified by
    /// their time.
    private var startsByTime = false
    /// The last known position up to which a group has acknowledged everything.
    private var acknowledged: UInt64?
    /// The creation time of the group in nanoseconds since 1970.
    private var created: Int64 = 0
    private var acknowledgedTimer: NetworkTimer?
    private var streamWasGone = false
    private var hasBegun = false
    private var reported: NATSError.Kind?

    private struct Prepared: Sendable {
        let subscription: NATSSubscription
        let inbox: String
        let consumer: FoundConsumer
    }

    /// - Parameters:
    ///   - headers: The names of the headers to read.
    ///   - window: The maximum number of messages waiting here.
    package nonisolated init(
        _ connection: NATSConnection, stream: String, settings: ConsumerSettings, headers: [String] = [],
        window: Int = PullMachine.usualWindow,
        onReport: @escaping @Sendable @NetworkActor (Report) -> Void
    ) {
        (self.connection, self.stream, self.settings, self.headers) = (connection, stream, settings, headers)
        self.onReport = onReport
        driver = Driver(PullMachine(window: window))
    }

    deinit {
        if let id = observation.withLock({ $0 }) { connection.removeObserver(id) }
    }

    // MARK: Life cycle

    package nonisolated func start() {
        let id = connection.observe { [weak self] news in
            switch news {
            case .connected: self?.call { machine, now in machine.connected(now: now) }
            case .disconnected, .closed: self?.call { machine, now in machine.disconnected(now: now) }
            case .failed: break
            }
        }
        observation.withLock { $0 = id }
        if connection.connectionState == .connected { call { machine, now in machine.connected(now: now) } }
    }

    package nonisolated func close() { NetworkActor.execute { [self] in end() } }

    /// Notifies the server before anything sent later, so that a message that is given back does not return here.
    func end() {
        call { machine, _ in machine.end() }
        closeDriver()
        acknowledgedTimer = nil
        guard let subscription else { return }
        self.subscription = nil
        guard settings.durableName == nil else {
            // Messages that arrived but were not delivered go to other workers at once.
            return connection.calls.run { [self] in
                subscription.end(handsOutRest: true)
                NetworkActor.execute { _ = self }
            }
        }
        connection.calls.run { subscription.end() }
        connection.sendSoon("$JS.API.CONSUMER.DELETE.\(stream).\(consumer)", "")
    }

    // MARK: Reading

    package nonisolated func taken(_ count: Int, bytes: Int) {
        call { machine, now in machine.taken(count, bytes: bytes, now: now) }
    }

    package nonisolated func hold(_ isHeld: Bool) {
        call { machine, now in machine.hold(isHeld, now: now) }
    }

    // MARK: Actions of the machine

    package func carryOut(_ action: PullMachine.Action) {
        switch action {
        case .prepare(let attempt): prepare(attempt)
        case .request(let request): send(request)
        }
    }

    private func prepare(_ attempt: Int) {
        let name = "reader-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        var settings = settings
        // The start of the new one is determined here, so nothing more is accepted from the old one.
        if settings.durableName == nil { inbox = "" }
        if hasBegun, settings.start != .lastOfEachSubject { settings.start = nextStart }
        let newInbox = "\(connection.options.inboxPrefix).\(name)"
        // A durable one continues with its subscription, since messages already on their way count.
        let kept = settings.durableName == nil ? nil : subscription.map { ($0, inbox: self.inbox) }
        connection.call(
            "the reading of stream \(stream)", subject: apiSubject, on: calls,
            { [self, settings] link throws(NATSError) in
                let found = try NATSConnection.findOrMakeConsumer(settings, name: name, stream: stream, link)
                if let (subscription, inbox) = kept, subscription.link === link {
                    return Prepared(subscription: subscription, inbox: inbox, consumer: found)
                }
                let subscription = try NATSSubscription(link, subject: newInbox + ".*", headers: headers) {
                    [weak self] messages in self?.received(messages, by: newInbox)
                }
                return Prepared(subscription: subscription, inbox: newInbox, consumer: found)
            },
            then: { [weak self] result in
                NetworkActor.execute { self?.prepared(attempt, result) }
            })
    }

    private static let clockDifference = Duration.seconds(10)

    /// Where a consumer that is created again starts.
    private var nextStart: ConsumerSettings.Start {
        if streamWasGone { return .beginning }
        if settings.durableName != nil {
            // Without any ack, it starts where it originally started.
            if let acknowledged { return .after(acknowledged) }
            return settings.start == .new ? .time(created - Self.clockDifference.wholeNanoseconds) : settings.start
        }
        guard let position else { return settings.start }
        if startsByTime { return .time(positionTime - Self.clockDifference.wholeNanoseconds) }
        // Starts at the last message: if another one is in its place, the stream was created again.
        return lastTime == nil ? .after(position) : .sequence(position)
    }

    /// The subject that is used first, for which a timeout may be a missing permission.
    private nonisolated var apiSubject: String {
        settings.durableName.map { "$JS.API.CONSUMER.INFO.\(stream).\($0)" } ?? "$JS.API.CONSUMER.CREATE.\(stream)"
    }

    private func prepared(_ attempt: Int, _ result: Result<Prepared, NATSError>) {
        switch result {
        case .success(let prepared):
            // The resulting actions are performed after this.
            guard call({ machine, now in machine.prepared(attempt, now: now) }) else { return }
            (subscription, inbox) = (prepared.subscription, prepared.inbox)
            (consumer, lastConsumerSequence) = (prepared.consumer.name, 0)
            guard !endsTooEarly(prepared.consumer) else {
                startsByTime = true
                return call { machine, now in machine.lostOrder(now: now) }
            }
            note(prepared.consumer)
            onReport(.began(pending: prepared.consumer.pending, ackWait: prepared.consumer.ackWait))
        case .failure(let error):
            if hasBegun, error == .noStream(stream) { streamWasGone = true }
            let willRetry = mayRetry(error)
            call { machine, now in machine.preparationFailed(attempt, mayRetry: willRetry, now: now) }
            report(error, willRetry: willRetry)
        }
    }

    /// Whether the stream was created again, or this server's copy lags behind.
    private func endsTooEarly(_ found: FoundConsumer) -> Bool {
        guard hasBegun, !streamWasGone, !startsByTime, settings.durableName == nil,
            settings.start != .lastOfEachSubject,
            let position
        else { return false }
        return found.position + 1 < position
    }

    private func note(_ found: FoundConsumer) {
        let isStreamNew = hasBegun && streamWasGone
        let isRemade = hasBegun && found.isNew && settings.durableName != nil && !isStreamNew
        if streamWasGone { (position, positionTime, lastTime) = (nil, 0, nil) }
        if found.position > position ?? 0 || position == nil {
            (position, positionTime, lastTime) = (found.position, max(positionTime, found.created), nil)
        }
        acknowledged = found.created == created ? found.acknowledged ?? acknowledged : found.acknowledged
        created = found.created
        (hasBegun, streamWasGone, reported) = (true, false, nil)
        if isRemade { onReport(.remade(from: found.position + 1)) }
        if isStreamNew { onReport(.streamIsNew) }
        if settings.durableName != nil { lookAtAcknowledged() }
    }

    private static let acknowledgedInterval = Duration.seconds(5)

    /// Queries the acknowledged position, after which a group that is gone is created again.
    private func lookAtAcknowledged() {
        let timer = NetworkTimer { [weak self] in
            guard let self, subscription != nil, let durable = settings.durableName else { return }
            connection.call(
                "the question for consumer \(durable)", on: looks,
                { [stream] link throws(NATSError) in
                    try NATSConnection.acknowledgedPlace(durable, stream: stream, link)
                },
                then: { [weak self] result in
                    NetworkActor.execute {
                        guard let self else { return }
                        if case .success(let place?) = result { self.acknowledged = place }
                        self.lookAtAcknowledged()
                    }
                })
        }
        acknowledgedTimer = timer
        timer.set(.now + Self.acknowledgedInterval)
    }

    private func mayRetry(_ error: NATSError) -> Bool {
        switch error.kind {
        case .invalidArgument, .differentSettings, .unsupportedServer: false
        // An existing object will return with its server.
        case .notFound, .permission, .authentication, .quotaExceeded: hasBegun
        case .notConnected, .unreachable, .tls, .noResponders, .timeout, .wrongLastSequence, .streamFull, .tooLarge,
            .unavailable, .other:
            true
        }
    }

    private func report(_ error: NATSError, willRetry: Bool) {
        // Observers of the connection already know that it is lost.
        guard error.kind != .notConnected, reported != error.kind else { return }
        reported = error.kind
        onReport(.failed(error, willRetry: willRetry))
    }

    private func send(_ request: PullMachine.Request) {
        var json = JSONWriter()
        json.add("expires", json: "\(PullMachine.expiry.wholeNanoseconds)")
        json.add("batch", json: "\(request.batch)")
        json.add("max_bytes", json: "\(request.bytes)")
        json.add("idle_heartbeat", json: "\(PullMachine.heartbeat.wholeNanoseconds)")
        let payload = json.view.compactText
        let subject = "$JS.API.CONSUMER.MSG.NEXT.\(stream).\(consumer)"
        let reply = "\(inbox).\(request.number)"
        connection.call(
            "a request for messages of stream \(stream)", on: calls,
            { link throws(NATSError) in
                let status = natsConnection_PublishRequestString(link.connection, subject, reply, payload)
                guard status == NATS_OK else { throw NATSError(status, during: "a request for messages") }
            },
            then: { [weak self] result in
                guard case .failure = result else { return }
                self?.call { machine, now in machine.answered(request.number, status: 503, now: now) }
            })
    }

    // MARK: Incoming messages

    private func received(_ messages: [IncomingMessage], by origin: String) {
        guard subscription != nil, origin == inbox else {
            // The subscription has ended or was replaced.
            if settings.durableName != nil {
                for message in messages {
                    guard let reply = message.reply, DeliveryInfo(ackSubject: reply) != nil else { continue }
                    connection.sendSoon(reply, "-NAK")
                }
            }
            return
        }
        var deliveries: [Delivery] = []
        for message in messages {
            if let info = message.reply.flatMap({ DeliveryInfo(ackSubject: $0) }) {
                let delivery = Delivery(message: message, info: info)
                guard isNext(info), !isAnother(info) else {
                    inbox = ""  // later messages are not accepted either
                    handleSoon { machine, now in machine.lostOrder(now: now) }
                    break
                }
                handleSoon { machine, now in machine.delivered(bytes: delivery.byteCount, now: now) }
                guard isNew(info) else {
                    handleSoon { machine, now in machine.taken(1, bytes: delivery.byteCount, now: now) }
                    continue
                }
                deliveries.append(delivery)
            } else if let status = message.status,
                let number = message.subject.split(separator: ".").last.flatMap({ Int($0) })
            {
                handleSoon { machine, now in machine.answered(number, status: status, now: now) }
            }
        }
        if !deliveries.isEmpty { onReport(.delivered(deliveries)) }
    }

    /// A server whose copy of the stream lags behind lets a new consumer start earlier than requested.
    private func isNew(_ info: DeliveryInfo) -> Bool {
        guard settings.durableName == nil, settings.start != .lastOfEachSubject else { return true }
        guard info.streamSequence > position ?? 0 || info.time > positionTime else { return false }
        if startsByTime, info.streamSequence <= position ?? 0 { onReport(.streamIsNew) }
        startsByTime = false
        (position, positionTime, lastTime) = (info.streamSequence, max(positionTime, info.time), info.time)
        return true
    }

    /// Whether it is another message at the position of the last one. In a stream that was created again, the messages
    /// before it have not arrived either.
    private func isAnother(_ info: DeliveryInfo) -> Bool {
        guard !startsByTime, info.streamSequence == position, let lastTime, info.time > lastTime else { return false }
        startsByTime = true
        return true
    }

    /// Without acks, only the consumer's sequence number shows a reader that it missed a message.
    private func isNext(_ info: DeliveryInfo) -> Bool {
        guard settings.durableName == nil else { return true }
        defer { lastConsumerSequence = info.consumerSequence }
        return info.consumerSequence == lastConsumerSequence + 1
    }
}
