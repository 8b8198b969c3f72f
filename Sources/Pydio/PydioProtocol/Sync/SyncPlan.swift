/// The contents of both sides, and their state when they were last in sync.
package struct SyncInput: Sendable {
    package var local: [SyncPath: SyncNode]
    package var remote: [SyncPath: SyncNode]
    /// The state of both sides after the last step for each path.
    package var records: [SyncPath: SyncRecord]
    /// Paths that could not be examined on one side, or have failed: ignored on both, with everything in them.
    package var excluded: Set<SyncPath>
    package var direction = PydioSyncDirection.both
    /// Whether the folder on the server is the root of a workspace, which contains the recycle bin.
    package var isWorkspaceTop = false
    /// The label for the names of conflicts.
    package var conflictLabel: String

    package init(
        local: [SyncPath: SyncNode] = [:], remote: [SyncPath: SyncNode] = [:], records: [SyncPath: SyncRecord] = [:],
        excluded: Set<SyncPath> = [], conflictLabel: String = "1"
    ) {
        (self.local, self.remote, self.records, self.excluded) = (local, remote, records, excluded)
        self.conflictLabel = conflictLabel
    }
}

/// The steps that bring both sides in sync.
package struct SyncPlan: Sendable, Hashable {
    /// The steps, in order. After a step that keeps both sides of a conflict, another plan is needed.
    package var steps: [PydioSyncStep] = []
    /// The nodes that are already in sync, but not recorded so.
    package var adopted: [SyncPath: SyncRecord] = [:]
    /// The paths that are gone on both sides.
    package var forgotten: [SyncPath] = []
    package var refused: [PydioSyncRefusal] = []
    /// The side on which everything that was ever synced is gone, if that would be synced to the other one.
    package var emptySide: PydioSyncSide?

    package init() {}

    /// Creates the plan.
    package init(_ input: SyncInput) {
        var planner = SyncPlanner(input)
        self = planner.plan()
    }
}
