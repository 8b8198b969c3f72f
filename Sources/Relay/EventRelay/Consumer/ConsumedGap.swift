public import Foundation
import RelayProtocol

/// A period in which events of a channel may be missing, as delivered by ``EventConsumer/events(_:includingGaps:)``.
public struct ConsumedGap: Hashable, Sendable {
    /// The time at which data last arrived before the gap.
    public let start: Date
    /// The time at which events arrived again.
    public let end: Date
    /// The reason in one word: `takeover`, `connection` or `source`.
    public let reason: String

    init(_ gap: RelayGap) {
        (start, end, reason) = (Date(milliseconds: gap.start), Date(milliseconds: gap.end), gap.reason)
    }
}
