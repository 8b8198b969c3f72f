import Basics
import CurlTransport
import Foundation
import JSONBytes
import Realtime
import RelayProtocol

/// Reads messages for one sequence, or for the bindings of a consumer. Skips late ones, sets unreadable ones aside, and
/// keeps the server from redelivering messages that only wait here.
@NetworkActor
final class ConsumerReader {
    typealias Take = @Sendable @NetworkActor ([ReceivedEvent]) -> Void

    private nonisolated let core: ConsumerCore
    private nonisolated let name: String?
    private nonisolated let includesGaps: Bool
    private nonisolated let take: Take
    private nonisolated let onEnd: @Sendable () -> Void
    /// `nil` without a group, and so without acks.
    private nonisolated let deadLetters: DeadLetters?
    /// Nil before the start, and after the end.
    private var reader: PullReader?
    /// The messages waiting to be handled, by their numbers.
    private var waiting: [UInt64: DeliveryReceipt] = [:]
    /// The value of the existing consumer, which keeps its settings.
    private var ackWait: Duration
    private var timer: NetworkTimer?
    private var isClosed = false

    /// - Parameters:
    ///   - name: The event name; nil for all names.
    ///   - take: Receives events in order. Call ``began(_:)`` or ``ended(_:)`` for each.
    nonisolated init(
        _ core: ConsumerCore, name: String?, includesGaps: Bool = false, take: @escaping Take,
        onEnd: @escaping @Sendable () -> Void = {}
    ) {
        (self.core, self.name, self.includesGaps) = (core, name, includesGaps)
        (self.take, self.onEnd, ackWait) = (take, onEnd, core.options.ackWait)
        let options = core.options
        deadLetters = options.durableName(event: name).map { DeadLetters(options.deadLetterPrefix, $0) }
    }

    private nonisolated var hasAcks: Bool { deadLetters != nil }

    // MARK: Life cycle

    func start() {
        guard reader == nil, !isClosed else { return }
        let reader = PullReader(
            core.connection, stream: core.options.stream, settings: core.options.settings(event: name),
            headers: RelayMessage.headerNames, window: core.options.prefetch
        ) { [weak self] report in self?.received(report) }
        self.reader = reader
        reader.start()
    }

    /// Stops reading. Waiting messages go to other workers.
    func close() {
        isClosed = true
        reader?.end()
        reader = nil
        timer = nil
        // The server redelivers them in this order.
        for (_, receipt) in waiting.sorted(by: { $0.key < $1.key }) { receipt.nakSoon() }
        waiting = [:]
        onEnd()
    }

    func hold(_ isHeld: Bool) { reader?.hold(isHeld) }

    // MARK: Handling events

    /// Makes the application responsible for the event.
    func began(_ received: ReceivedEvent) {
        waiting[received.info.consumerSequence] = nil
        if core.options.prefetch > 0 { makeRoom(for: received) }
    }

    /// Requests the next event if there is no prefetch.
    func wanted(after received: ReceivedEvent) {
        if core.options.prefetch < 1 { makeRoom(for: received) }
    }

    private func makeRoom(for received: ReceivedEvent) { reader?.taken(1, bytes: received.delivery.byteCount) }

    /// Acknowledges events with which bindings were called.
    func ended(_ received: [ReceivedEvent]) {
        for event in received {
            event.receipt.ackSoon()
            began(event)
            wanted(after: event)
        }
    }

    func failed(_ received: ReceivedEvent, _ reason: String) {
        began(received)
        wanted(after: received)
        putAside(received.delivery, received.receipt, reason)
    }

    // MARK: What comes

    private func received(_ report: PullReader.Report) {
        switch report {
        case .began(_, let ackWait): if hasAcks, ackWait > .zero { self.ackWait = ackWait }
        case .remade(let sequence):
            core.expectNewStream()
            let ofEvent = name.map { " for event \($0)" } ?? ""
            let what = core.options.group.map { "group \($0)\(ofEvent)" } ?? "the reader"
            core.failed(
                "\(what) was gone from stream \(core.options.stream) and was created again: it resumes at message \(sequence), "
                    + "and events that were handled lately may come again", willRetry: false)
        case .streamIsNew:
            core.forgetTerms()
            core.failed(
                "stream \(core.options.stream) was deleted and created again: it is read anew", willRetry: false)
        case .failed(let error, let willRetry): core.failed(error, willRetry: willRetry, reader: self)
        case .delivered(let deliveries):
            var events: [ReceivedEvent] = []
            for delivery in deliveries {
                if let event = read(delivery) {
                    events.append(event)
                } else {
                    reader?.taken(1, bytes: delivery.byteCount)
                }
            }
            guard !events.isEmpty else { return }
            if hasAcks {
                for event in events { waiting[event.info.consumerSequence] = event.receipt }
                refresh()
            }
            take(events)
        }
    }

    /// - Returns: `nil` if it contains nothing to deliver.
    private func read(_ delivery: Delivery) -> ReceivedEvent? {
        let receipt = DeliveryReceipt(core.connection, subject: hasAcks ? delivery.message.reply : nil)
        let message: RelayMessage
        do throws(RelayMessage.Malformed) {
            message = try RelayMessage(
                subject: delivery.message.subject, prefix: core.options.prefix, payload: delivery.message.payload,
                header: delivery.message.header)
        } catch {
            putAside(delivery, receipt, "it cannot be read: " + error.reason)
            return nil
        }
        let isLate = core.isLate(message, position: delivery.info.streamSequence, time: delivery.info.time)
        guard !isLate || core.options.late == .flag else {
            receipt.ackSoon()
            return nil
        }
        switch message.content {
        case .fence: receipt.ackSoon()
        case .gap(let gap):
            core.publish(
                SourceGap(
                    channelName: core.options.channelPrefix + (gap.channel ?? ""), start: Date(milliseconds: gap.start),
                    end: Date(milliseconds: gap.end)))
            guard includesGaps else {
                receipt.ackSoon()
                return nil
            }
            return ReceivedEvent(
                event: RealtimeEvent(name: RelayGap.eventName, channel: gap.channel, data: nil)
                    .withData(delivery.message.payload),
                info: delivery.info, isLate: isLate, relaySequence: message.author?.sequence,
                mayBeRepeated: false, relayTime: message.time.map { Date(milliseconds: $0) }, gap: ConsumedGap(gap),
                ackWait: ackWait, delivery: delivery, receipt: receipt, deadLetters: deadLetters)
        case .event(let event):
            if let limit = core.options.maximumDeliveries, hasAcks, delivery.info.deliveries > limit {
                putAside(delivery, receipt, "it was delivered \(limit == 1 ? "once" : "\(limit) times") without an ack")
                return nil
            }
            return ReceivedEvent(
                event: event, info: delivery.info, isLate: isLate, relaySequence: message.author?.sequence,
                mayBeRepeated: message.mayBeRepeated, relayTime: message.time.map { Date(milliseconds: $0) }, gap: nil,
                ackWait: ackWait, delivery: delivery, receipt: receipt, deadLetters: deadLetters)
        }
        return nil
    }

    // MARK: Waiting messages

    /// Prevents redelivery to a reader that is slow but gets to everything in the end.
    private func refresh() {
        guard timer == nil else { return }
        let timer = NetworkTimer { [weak self] in
            guard let self else { return }
            self.timer = nil
            for receipt in waiting.values { receipt.inProgressSoon() }
            if !waiting.isEmpty { refresh() }
        }
        self.timer = timer
        timer.set(.now + ackWait / 3)
    }

    // MARK: Dead letters

    /// Sets a message aside that cannot be handled. A dead letter must be stored before its delivery ends.
    private func putAside(_ delivery: Delivery, _ receipt: DeliveryReceipt, _ reason: String) {
        let core = core
        let what = "message \(delivery.info.streamSequence) of stream \(core.options.stream)"
        guard let deadLetters else {
            return core.failed("\(what) is left out: \(reason)", willRetry: false)
        }
        let isKept =
            core.options.undecodable == .deadLetter || delivery.info.deliveries > core.options.maximumDeliveries ?? .max
        guard isKept else {
            receipt.terminateSoon()
            return core.failed("\(what) is not delivered again: \(reason)", willRetry: false)
        }
        let letter = deadLetters.letter(delivery, reason)
        core.connection.publish(letter) { result in
            switch result {
            case .success:
                receipt.terminateSoon()
                core.failed("\(what) is now a dead letter, \(letter.subject): \(reason)", willRetry: false)
            case .failure(let error):
                receipt.nakSoon(after: .seconds(5))
                core.failed(
                    "\(what) cannot be made a dead letter, and will be delivered again: \(error)", willRetry: true,
                    error)
            }
        }
    }
}

extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
