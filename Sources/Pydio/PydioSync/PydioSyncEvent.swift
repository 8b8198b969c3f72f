public import PydioSDK

/// What a sync tells while it runs.
public enum PydioSyncEvent: Sendable {
    /// A transfer goes on; a few times a second.
    case progress(PydioSyncStep, PydioTransferProgress)
    /// A step is done and recorded.
    case done(PydioSyncStep)
    /// Something is left out; the rest is synced.
    case refused(PydioSyncRefusal)
    /// While watching: both sides are the same, except for what was refused. The next change is waited for.
    case settled(PydioSyncSummary)
    /// While watching: it did not work, and is tried again after this long.
    case failed(PydioError, retryAfter: Duration)
}

/// What came of a sync.
public struct PydioSyncSummary: Sendable, Hashable {
    /// How many steps of each kind were done.
    public internal(set) var counts: [PydioSyncStep.Kind: Int] = [:]
    /// What was left out.
    public internal(set) var refused: [PydioSyncRefusal] = []
    /// The side where everything is gone that was ever synced: nothing was done. See
    /// ``PydioSyncOptions/allowsEmptying``. Nil in all other cases.
    public internal(set) var emptySide: PydioSyncSide?

    /// Whether nothing was left out.
    public var isComplete: Bool { refused.isEmpty && emptySide == nil }
}
