/// What both sides are, and what they were when they were last the same.
package struct SyncInput: Sendable {
    package var local: [SyncPath: SyncNode]
    package var remote: [SyncPath: SyncNode]
    /// What was the same on both sides after the last step for each path.
    package var records: [SyncPath: SyncRecord]
    /// What could not be looked at on one side, or failed: left alone on both, with everything in it.
    package var excluded: Set<SyncPath>
    package var direction = PydioSyncDirection.both
    /// Whether the folder on the server is the top of a workspace, where the recycle bin is.
    package var isWorkspaceTop = false
    /// For the names of conflicts.
    package var conflictLabel: String

    package init(
        local: [SyncPath: SyncNode] = [:], remote: [SyncPath: SyncNode] = [:], records: [SyncPath: SyncRecord] = [:],
        excluded: Set<SyncPath> = [], conflictLabel: String = "1"
    ) {
        (self.local, self.remote, self.records, self.excluded) = (local, remote, records, excluded)
        self.conflictLabel = conflictLabel
    }
}

/// What is to be done so that both sides are the same.
package struct SyncPlan: Sendable, Hashable {
    /// In order. After a step that keeps both sides of a conflict, another plan is needed.
    package var steps: [PydioSyncStep] = []
    /// What is the same on both sides already, and not yet recorded so.
    package var adopted: [SyncPath: SyncRecord] = [:]
    /// What is gone on both sides.
    package var forgotten: [SyncPath] = []
    package var refused: [PydioSyncRefusal] = []
    /// The side where everything is gone that was ever synced, if that would be carried to the other one.
    package var emptySide: PydioSyncSide?

    package init() {}

    /// Makes the plan.
    package init(_ input: SyncInput) {
        var planner = SyncPlanner(input)
        self = planner.plan()
    }
}
