#if NATSRelay
    import Basics

    /// Calls back three times per ack wait of the events in progress, so that the servers do not deliver them to
    /// another worker. The wait belongs to the group and is only known from its events.
    final class RefreshTimer: Sendable {
        private struct State: Sendable {
            /// The shortest ack wait seen.
            var ackWait: Duration?
            var task: Task<Void, Never>?
            var isEnded = false
        }

        private let state = Lock(State())

        deinit { end() }

        /// Sets the timer; called for each event.
        func set(for ackWait: Duration, _ refresh: @escaping @Sendable () async -> Void) {
            state.withLock { state in
                guard !state.isEnded, ackWait > .zero, state.ackWait.map({ ackWait < $0 }) ?? true else { return }
                state.task?.cancel()
                state.ackWait = ackWait
                state.task = Task {
                    while (try? await Task.sleep(for: ackWait / 3)) != nil { await refresh() }
                }
            }
        }

        func end() {
            let task = state.withLock { state in
                state.isEnded = true
                return state.task
            }
            task?.cancel()
        }
    }
#endif
