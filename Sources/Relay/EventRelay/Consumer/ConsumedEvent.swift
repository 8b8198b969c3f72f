import Basics
public import Foundation
public import Realtime
import RelayProtocol

/// An event of a stream. Acknowledge it once it is handled.
///
/// An event that is not acknowledged within ``ackWait`` is delivered again, to this worker or another one of the group,
/// so handling it twice must be harmless. Without a group there is nothing to acknowledge.
public struct ConsumedEvent<Value: Sendable>: Sendable {
    /// The event, in the form common to all sources.
    public let event: RealtimeEvent
    /// Its data decoded as the requested type, or the event itself if none was requested.
    public let value: Value
    /// Its sequence number in the stream.
    public let sequence: UInt64
    /// The time at which it was stored.
    public let time: Date
    /// The time at which its relay received it, on the relay's clock; nil if it doesn't come from a relay.
    public let relayTime: Date?
    /// The gap, if this is not an event but a gap, which has the name `relay:gap`; see
    /// ``EventConsumer/events(_:includingGaps:)``. Nil for events.
    public let gap: ConsumedGap?
    /// The number of deliveries, including this one.
    public let deliveries: Int
    /// Whether an old owner of its channel wrote it when there was already a new one. Always false unless
    /// ``EventConsumerOptions/late`` is `flag`.
    public let isLate: Bool
    /// The number that its relay assigned to it, counted per channel and per term of the relay as its owner. After
    /// failures, events can be stored in another order. Nil if it doesn't come from a relay.
    public let relaySequence: Int?
    /// Whether the stream may contain the same event a second time, shortly before. This happens when two relays listen
    /// for a while during a handover of a channel, since events of the Pusher protocol have no IDs.
    public let mayBeRepeated: Bool
    /// The time without ``ack(confirming:)`` or ``inProgress()`` after which the servers deliver it again. This is the
    /// value with which the group was created, whatever ``EventConsumerOptions/ackWait`` is here. Meaningless without a
    /// group.
    public let ackWait: Duration
    let receipt: DeliveryReceipt
    private let delivery: Delivery
    private let deadLetters: DeadLetters?

    /// Whether it was delivered before, to this worker or another one, and so may have been handled.
    public var isRedelivered: Bool { deliveries > 1 }

    init(_ received: ReceivedEvent, _ value: Value) {
        (event, self.value, receipt) = (received.event, value, received.receipt)
        (sequence, deliveries) = (received.info.streamSequence, received.info.deliveries)
        time = Date(timeIntervalSince1970: Double(received.info.time) / 1e9)
        (isLate, relaySequence) = (received.isLate, received.relaySequence)
        mayBeRepeated = received.mayBeRepeated
        (relayTime, gap, ackWait) = (received.relayTime, received.gap, received.ackWait)
        (delivery, deadLetters) = (received.delivery, received.deadLetters)
    }

    /// Acknowledges the event as handled.
    ///
    /// - Parameter confirming: Whether to wait for the server's confirmation. Without it, the event is delivered again
    ///   if the ack is lost.
    public func ack(confirming: Bool = false) async throws(NATSError) { try await receipt.ack(confirming) }

    /// Reports that the event could not be handled, so that it is delivered again.
    ///
    /// - Parameter delay: The time until the next delivery. Other events may be delivered meanwhile.
    public func nak(after delay: Duration? = nil) async throws(NATSError) { try await receipt.nak(delay) }

    /// Restarts the time for the ack, because handling takes longer.
    public func inProgress() async throws(NATSError) { try await receipt.inProgress() }

    /// Prevents another delivery, although the event was not handled.
    public func terminate() async throws(NATSError) { try await receipt.terminate() }

    /// Stores the event as a dead letter of the group, because it cannot be handled, and prevents another delivery.
    /// Does nothing without a group.
    ///
    /// - Parameter reason: The reason, stored with the event.
    /// - Throws: An error if it could not be stored. It is then delivered again, unless the delivery is ended in
    ///   another way.
    public func putAside(_ reason: String) async throws(NATSError) {
        guard let deadLetters else { return }
        try await receipt.putAside(deadLetters.letter(delivery, reason))
    }
}

extension ConsumedEvent: CustomStringConvertible {
    /// The number, name and channel, never the data.
    public var description: String { "#\(sequence) \(event)" }
}

struct ReceivedEvent: Sendable {
    let event: RealtimeEvent
    let info: DeliveryInfo
    let isLate: Bool
    let relaySequence: Int?
    let mayBeRepeated: Bool
    let relayTime: Date?
    let gap: ConsumedGap?
    let ackWait: Duration
    let delivery: Delivery
    let receipt: DeliveryReceipt
    /// Nil without a group.
    let deadLetters: DeadLetters?
}

/// Answers one delivery. The first answer that ends it counts.
final class DeliveryReceipt: Sendable {
    private let connection: NATSConnection
    /// The subject for answers; nil if no answer is expected.
    private let subject: String?
    private let isEnded = Lock(false)

    init(_ connection: NATSConnection, subject: String?) {
        (self.connection, self.subject) = (connection, subject)
    }

    func ack(_ confirming: Bool) async throws(NATSError) {
        try await end { connection, subject throws(NATSError) in
            if confirming {
                try await connection.request(subject, "+ACK")
            } else {
                try await connection.send(subject, "+ACK")
            }
        }
    }

    func nak(_ delay: Duration?) async throws(NATSError) {
        try await end { connection, subject throws(NATSError) in
            try await connection.send(subject, Self.nak(delay))
        }
    }

    func terminate() async throws(NATSError) {
        try await end { connection, subject throws(NATSError) in try await connection.send(subject, "+TERM") }
    }

    /// Ends the delivery only when the letter is stored.
    func putAside(_ letter: OutgoingMessage) async throws(NATSError) {
        try await end { connection, subject throws(NATSError) in
            _ = try await connection.publish(letter)
            try await connection.send(subject, "+TERM")
        }
    }

    func inProgress() async throws(NATSError) {
        guard let subject, !isEnded.withLock({ $0 }) else { return }
        try await connection.send(subject, "+WPI")
    }

    private func end(
        _ body: (NATSConnection, String) async throws(NATSError) -> Void
    ) async throws(NATSError) {
        guard let subject,
            isEnded.withLock({ isEnded in
                defer { isEnded = true }
                return !isEnded
            })
        else { return }
        do {
            try await body(connection, subject)
        } catch {
            isEnded.withLock { $0 = false }
            throw error
        }
    }

    // MARK: Without waiting

    func ackSoon() { endSoon("+ACK") }

    func terminateSoon() { endSoon("+TERM") }

    func nakSoon(after delay: Duration? = nil) { endSoon(Self.nak(delay)) }

    func inProgressSoon() {
        guard let subject, !isEnded.withLock({ $0 }) else { return }
        connection.sendSoon(subject, "+WPI")
    }

    /// If it is lost, the message is delivered again.
    private func endSoon(_ text: String) {
        guard let subject,
            isEnded.withLock({ isEnded in
                defer { isEnded = true }
                return !isEnded
            })
        else { return }
        connection.sendSoon(subject, text)
    }

    private static func nak(_ delay: Duration?) -> String {
        delay.map { "-NAK {\"delay\":\($0.wholeNanoseconds)}" } ?? "-NAK"
    }
}
