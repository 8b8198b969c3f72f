/// JetStream's information on a delivered message, from the subject for its ack:
///
///     $JS.ACK.<stream>.<consumer>.<delivered>.<stream sequence>.<consumer sequence>.<time>.<pending>
///     $JS.ACK.<domain>.<account>.<stream>.<consumer>.<delivered>. … .<pending>.<random>
package struct DeliveryInfo: Hashable, Sendable {
    package let stream: String
    package let consumer: String
    /// The number of deliveries, including this one.
    package let deliveries: Int
    package let streamSequence: UInt64
    package let consumerSequence: UInt64
    /// The time at which it was stored, in nanoseconds since 1970.
    package let time: Int64
    /// The number of messages that the consumer has not delivered yet.
    package let pending: Int

    /// - Returns: `nil` if it is not such a subject.
    package init?(ackSubject: String) {
        let tokens = ackSubject.split(separator: ".", omittingEmptySubsequences: false)
        guard tokens.count == 9 || tokens.count >= 11, tokens[0] == "$JS", tokens[1] == "ACK" else { return nil }
        let start = tokens.count == 9 ? 2 : 4
        let numbers = tokens[(start + 2)..<(start + 7)].map { UInt64($0) }
        guard let deliveries = numbers[0].flatMap({ Int(exactly: $0) }), let streamSequence = numbers[1],
            let consumerSequence = numbers[2], let time = numbers[3].flatMap({ Int64(exactly: $0) }),
            let pending = numbers[4].flatMap({ Int(exactly: $0) })
        else { return nil }
        (stream, consumer) = (String(tokens[start]), String(tokens[start + 1]))
        (self.deliveries, self.time, self.pending) = (deliveries, time, pending)
        (self.streamSequence, self.consumerSequence) = (streamSequence, consumerSequence)
    }
}
