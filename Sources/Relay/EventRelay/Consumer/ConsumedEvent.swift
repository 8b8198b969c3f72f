import Basics
public import Foundation
public import Realtime
import RelayProtocol

/// An event of a stream, which is to be acknowledged once it is handled.
///
/// An event that is not acknowledged within ``ackWait`` is delivered again, to this worker or another one
/// of the group: what is done with it should bear to be done twice. Without a group there is nothing to acknowledge.
public struct ConsumedEvent<Value: Sendable>: Sendable {
    /// The event, as any source has it.
    public let event: RealtimeEvent
    /// Its data as the type that was asked for; the event itself without one.
    public let value: Value
    /// Its number in the stream.
    public let sequence: UInt64
    /// When it was stored.
    public let time: Date
    /// When its relay received it, on the relay's clock. Nil if no relay wrote it.
    public let relayTime: Date?
    /// What it tells if it is no event but a gap, which has the name `relay:gap`; see
    /// ``EventConsumer/events(_:includingGaps:)``. Nil for events.
    public let gap: ConsumedGap?
    /// How often it was delivered, this time included.
    public let deliveries: Int
    /// Whether it was written by an old owner of its channel when there was a new one already. Always false unless
    /// ``EventConsumerOptions/late`` is `flag`.
    public let isLate: Bool
    /// The number that its relay has given it, of its channel and the relay's time as its owner: after failures, events can be
    /// stored in another order. Nil if no relay wrote it.
    public let relaySequence: Int?
    /// Whether the same event may be in the stream a second time, shortly before: two relays listened for a while when one of
    /// them handed its channel to the other, and events of the Pusher protocol have no ids.
    public let mayBeRepeated: Bool
    /// After how much time without ``ack(confirming:)`` or ``inProgress()`` the servers deliver it again: what the group was made
    /// with, whatever ``EventConsumerOptions/ackWait`` is here. Without a group it means nothing.
    public let ackWait: Duration
    let receipt: DeliveryReceipt
    private let delivery: Delivery
    private let deadLetters: DeadLetters?

    /// Whether it was delivered before, to this worker or another one, and may have been handled.
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

    /// It was handled.
    ///
    /// - Parameter confirming: Whether to wait for the server's word. Without it, the event comes again if the ack is lost.
    public func ack(confirming: Bool = false) async throws(NATSError) { try await receipt.ack(confirming) }

    /// It could not be handled, and is to be delivered again.
    ///
    /// - Parameter delay: After that much time; others may come meanwhile.
    public func nak(after delay: Duration? = nil) async throws(NATSError) { try await receipt.nak(delay) }

    /// It takes longer: the time for the ack begins anew.
    public func inProgress() async throws(NATSError) { try await receipt.inProgress() }

    /// It is not to be delivered again, though it was not handled.
    public func terminate() async throws(NATSError) { try await receipt.terminate() }

    /// It cannot be handled: it is kept as a dead letter of the group, and not delivered again. Without a group, nothing happens.
    ///
    /// - Parameter reason: Stored with it.
    /// - Throws: If it could not be kept. It is delivered again, unless something else ends it.
    public func putAside(_ reason: String) async throws(NATSError) {
        guard let deadLetters else { return }
        try await receipt.putAside(deadLetters.letter(delivery, reason))
    }
}

extension ConsumedEvent: CustomStringConvertible {
    /// Number, name and channel, never the data.
    public var description: String { "#\(sequence) \(event)" }
}

/// An event on its way to who reads.
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

/// Where the answer to one delivery goes. The first that ends it counts.
final class DeliveryReceipt: Sendable {
    private let connection: NATSConnection
    /// Nil if there is nobody to answer.
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

    /// Ends the delivery only when the letter is kept.
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

    /// If it is lost, the message comes again.
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
