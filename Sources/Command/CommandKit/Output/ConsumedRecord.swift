package import Foundation
package import PusherSwift

/// An event of a stream with its position.
package struct ConsumedRecord: Sendable {
    /// A period in which events may have been missed, with a reason in one word.
    package struct Gap: Sendable {
        package let start: Date
        package let end: Date
        package let reason: String

        package init(start: Date, end: Date, reason: String) {
            (self.start, self.end, self.reason) = (start, end, reason)
        }
    }

    package let event: PusherEvent
    /// The gap that the event reports; `nil` for other events.
    package let gap: Gap?
    /// The time at which the relay received the event, or at which it was stored if no relay wrote it.
    package let time: Date
    package let sequence: UInt64
    package let deliveries: Int
    /// Whether the stream may contain the event twice.
    package let mayBeRepeated: Bool

    package init(
        event: PusherEvent, gap: Gap?, time: Date, sequence: UInt64, deliveries: Int, mayBeRepeated: Bool
    ) {
        (self.event, self.gap, self.time) = (event, gap, time)
        (self.sequence, self.deliveries, self.mayBeRepeated) = (sequence, deliveries, mayBeRepeated)
    }
}
