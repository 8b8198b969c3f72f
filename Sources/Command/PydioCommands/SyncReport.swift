import Basics
import CommandKit
import PydioSync

/// Tells of a sync's steps, and of what it leaves out.
final class SyncReport: Sendable {
    private struct State {
        var isSettled = false
        /// Told once, however often it is met again.
        var refused: Set<PydioSyncRefusal> = []
    }

    private let transfers: TransferReport
    private let wholeName: String
    private let state = Lock(State())

    /// - Parameter wholeName: What the synced folder is called.
    init(json: Bool, wholeName: String) {
        transfers = TransferReport(json: json)
        self.wholeName = wholeName
    }

    /// Whether a watching sync waits for changes.
    var isSettled: Bool { state.withLock { $0.isSettled } }

    @Sendable
    func tell(_ event: PydioSyncEvent) {
        let begins = state.withLock { state in
            let wasSettled = state.isSettled
            if case .settled = event { state.isSettled = true } else { state.isSettled = false }
            return wasSettled && !state.isSettled
        }
        if begins { StatusLine.wait(for: "the sync of \(wholeName)") }
        switch event {
        case .progress(let step, let progress): transfers.progress(step.path)(progress)
        case .done(let step):
            let record = SyncStepRecord(step: step)
            transfers.done(json: record.json, record.words)
        case .refused(let refusal): refuse(refusal)
        case .settled(let summary):
            // What was mended is told again if it is broken again.
            state.withLock { $0.refused.formIntersection(summary.refused) }
            tell(summary)
            StatusLine.wait(for: "changes of \(wholeName)")
        case .failed(let error, let delay):
            transfers.pause()
            StandardError.write("error: \(error): trying again in \(delay.components.seconds) s")
        }
    }

    private func refuse(_ refusal: PydioSyncRefusal) {
        guard state.withLock({ $0.refused.insert(refusal).inserted }) else { return }
        transfers.failed("\(refusal.path.isEmpty ? wholeName : refusal.path): \(refusal.message)")
    }

    /// What came of it, beyond what was told already.
    func tell(_ summary: PydioSyncSummary) {
        if let side = summary.emptySide { refuseToEmpty(side) }
    }

    /// What would be done.
    func tell(_ plan: PydioSyncPlan, allowsEmptying: Bool) {
        for step in plan.steps {
            let record = SyncStepRecord(step: step, isPlanned: true)
            transfers.done(json: record.json, record.words)
        }
        plan.refused.forEach(refuse)
        if let side = plan.emptySide, !allowsEmptying { refuseToEmpty(side) }
    }

    private func refuseToEmpty(_ side: PydioSyncSide) {
        let (here, there) =
            switch side {
            case .local: ("the local folder", "the server")
            case .remote: ("the server", "the local folder")
            }
        transfers.failed(
            "everything that was synced is gone from \(here): nothing was done. If you deleted it, --allow-empty deletes "
                + "it from \(there), too; to get it back from there, remove the folder .pydio-sync")
    }

    /// Ends the command with the status of the worst failure.
    func end() throws { try transfers.end() }
}
