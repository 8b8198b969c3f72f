public import Foundation
import RelayProtocol

/// A time in which events of a channel may have been missed, among the events of ``EventConsumer/events(_:includingGaps:)``.
public struct ConsumedGap: Hashable, Sendable {
    /// When something was heard last before it.
    public let start: Date
    /// When events came again.
    public let end: Date
    /// Why, in a word: `takeover`, `connection` or `source`.
    public let reason: String

    init(_ gap: RelayGap) {
        (start, end, reason) = (Date(milliseconds: gap.start), Date(milliseconds: gap.end), gap.reason)
    }
}
