public import PydioSDK

/// An event of a running sync.
public enum PydioSyncEvent: Sendable {
    /// The progress of a transfer, a few times per second.
    case progress(PydioSyncStep, PydioTransferProgress)
    /// A step is done and recorded.
    case done(PydioSyncStep)
    /// A node is left out; the rest is synced.
    case refused(PydioSyncRefusal)
    /// While watching: both sides are in sync, except for refused nodes. The sync waits for the next change.
    case settled(PydioSyncSummary)
    /// While watching: the sync failed, and is retried after this delay.
    case failed(PydioError, retryAfter: Duration)
}

/// The result of a sync.
public struct PydioSyncSummary: Sendable, Hashable {
    /// The number of completed steps of each kind.
    public internal(set) var counts: [PydioSyncStep.Kind: Int] = [:]
    /// The nodes that were left out.
    public internal(set) var refused: [PydioSyncRefusal] = []
    /// The side on which everything that was ever synced is gone, so that the sync did nothing; otherwise `nil`. See
    /// ``PydioSyncOptions/allowsEmptying``.
    public internal(set) var emptySide: PydioSyncSide?

    /// Whether nothing was left out.
    public var isComplete: Bool { refused.isEmpty && emptySide == nil }
}
