package import Foundation
package import PusherSwift

/// What a stream had, with its place there.
package struct ConsumedRecord: Sendable {
    /// A time in which events may have been missed, and why, in a word.
    package struct Gap: Sendable {
        package let start: Date
        package let end: Date
        package let reason: String

        package init(start: Date, end: Date, reason: String) {
            (self.start, self.end, self.reason) = (start, end, reason)
        }
    }

    package let event: PusherEvent
    /// What the event tells if it is a gap; nil for other events.
    package let gap: Gap?
    /// When its relay received it, or when it was stored if no relay wrote it.
    package let time: Date
    package let sequence: UInt64
    package let deliveries: Int
    /// Whether the stream may have it twice.
    package let mayBeRepeated: Bool

    package init(
        event: PusherEvent, gap: Gap?, time: Date, sequence: UInt64, deliveries: Int, mayBeRepeated: Bool
    ) {
        (self.event, self.gap, self.time) = (event, gap, time)
        (self.sequence, self.deliveries, self.mayBeRepeated) = (sequence, deliveries, mayBeRepeated)
    }
}
