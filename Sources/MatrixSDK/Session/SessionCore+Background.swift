import CurlTransport
import MatrixProtocol
import Basics

/// One sync of a session that is paused.
extension SessionCore {
    func backgroundSync(timeout: Duration) async throws {
        guard setState(.backgroundSyncInProgress, from: .paused), let driver = state.withLock({ $0.driver }) else {
            throw MatrixError(.invalidArgument, "only a session that is paused syncs in the background")
        }
        defer { setState(.paused, from: .backgroundSyncInProgress) }
        let poll = SyncLoop.Poll(number: 0, serverTimeout: .zero, needsFreshConnection: true)
        let once = await driver.once { await self.sync(poll, setsPresence: false) }
        let isLate = Lock(false)
        let timer = Task {
            try await Task.sleep(for: timeout)
            isLate.withLock { $0 = true }
            once.cancel()
        }
        defer { timer.cancel() }
        let outcome = await withTaskCancellationHandler {
            await once.value
        } onCancel: {
            once.cancel()
        }
        switch outcome {
        case .applied: return
        case .failed(_, let error):
            try Task.checkCancellation()
            guard !isLate.withLock({ $0 }) else {
                throw MatrixError(.timedOut, "the homeserver did not answer the sync in the background in time")
            }
            throw error
        }
    }
}
