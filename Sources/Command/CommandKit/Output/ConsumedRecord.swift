import Foundation
import PusherSwift

/// What a stream had, with its place there.
struct ConsumedRecord: Sendable {
    /// A time in which events may have been missed, and why, in a word.
    struct Gap: Sendable {
        let start: Date
        let end: Date
        let reason: String
    }

    let event: PusherEvent
    /// What the event tells if it is a gap; nil for other events.
    let gap: Gap?
    /// When its relay received it, or when it was stored if no relay wrote it.
    let time: Date
    let sequence: UInt64
    let deliveries: Int
    /// Whether the stream may have it twice.
    let mayBeRepeated: Bool
}
