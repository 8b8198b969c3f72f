import Basics
import CurlTransport
import MatrixProtocol

extension SessionCore {
    /// Syncs a session that is not started once, without waiting for news. Syncs a second time if the server no longer
    /// knows the stored point of its stream.
    func syncOnce() async throws {
        if !account.isOpen { try setStore(MXMemoryStore()) }
        let poll = SyncLoop.Poll(number: 0, serverTimeout: .zero, needsFreshConnection: false)
        for hasToken in [account.model { $0.syncToken != nil } == true, false] {
            switch await sync(poll, setsPresence: false) {
            case .applied: return
            case .failed(_, let error):
                guard hasToken, account.model({ $0.syncToken == nil }) == true else { throw error }
            }
        }
    }

    /// - Parameter turn: The turn in which to begin.
    func backgroundSync(timeout: Duration, in turn: Turns.Turn) async throws {
        let driver = try await turn.run { () async throws -> SyncDriver in
            // Runs after a pause already sent to the driver.
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                NetworkActor.execute { continuation.resume() }
            }
            guard setState(.backgroundSyncInProgress, from: .paused), let driver = state.withLock({ $0.driver }) else {
                throw MatrixError(.invalidArgument, "only a session that is paused syncs in the background")
            }
            return driver
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
