#if NATSRelay
    import Basics

    /// Calls back three times within the ack wait of the events that are being handled, so that the servers deliver them to no
    /// other worker meanwhile. The wait is the group's, which is known from its events alone.
    final class RefreshTimer: Sendable {
        private struct State: Sendable {
            var ackWait: Duration?
            var task: Task<Void, Never>?
        }

        private let state = Lock(State())

        deinit { end() }

        /// For each event that comes.
        func set(for ackWait: Duration, _ refresh: @escaping @Sendable () async -> Void) {
            state.withLock { state in
                guard ackWait != state.ackWait, ackWait > .zero else { return }
                state.task?.cancel()
                state.ackWait = ackWait
                state.task = Task {
                    while (try? await Task.sleep(for: ackWait / 3)) != nil { await refresh() }
                }
            }
        }

        func end() { state.withLock { $0.task }?.cancel() }
    }
#endif
