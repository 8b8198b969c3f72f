#if NATSRelay
    import Basics

    /// Calls back three times within the ack wait of the events that are being handled, so that the servers deliver them to no
    /// other worker meanwhile. The wait is the group's, which is known from its events alone.
    final class RefreshTimer: Sendable {
        private struct State: Sendable {
            /// The shortest that was seen.
            var ackWait: Duration?
            var task: Task<Void, Never>?
            var isEnded = false
        }

        private let state = Lock(State())

        deinit { end() }

        /// For each event that comes.
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
