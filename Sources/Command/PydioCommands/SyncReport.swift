import Basics
import CommandKit
import PydioSync

/// Reports the steps of a sync and the files that it skips.
final class SyncReport: Sendable {
    private struct State {
        var isSettled = false
        /// Refusals that have been reported, each only once.
        var refused: Set<PydioSyncRefusal> = []
    }

    private let transfers: TransferReport
    private let wholeName: String
    private let state = Lock(State())

    /// - Parameter wholeName: The name of the synced folder.
    init(json: Bool, wholeName: String) {
        transfers = TransferReport(json: json)
        self.wholeName = wholeName
    }

    /// Whether a continuous sync is waiting for changes.
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
            // A resolved refusal is reported again if it recurs.
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

    /// Reports the results that were not reported before.
    func tell(_ summary: PydioSyncSummary) {
        if let side = summary.emptySide { refuseToEmpty(side) }
    }

    /// Reports the plan.
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
