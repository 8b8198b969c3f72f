import MatrixProtocol
import Transport

/// Waiting for a sync to bring what a call has done.
extension SessionCore {
    /// A room whose coming or going somebody waits for.
    struct RoomWaiter: Sendable {
        let id: Int
        let roomId: String
        /// Nil: for its going.
        let membership: MXMembership?
        let continuation: CheckedContinuation<Void, any Error>
    }

    /// How long a sync may take to bring a room that was joined or created.
    private static let bound = Duration.seconds(60)
    /// The same for those who can go on without.
    private static let settlingBound = Duration.seconds(15)

    /// Waits for the coming or going of a room if a sync is to tell of it soon. That it does not is no error: the homeserver
    /// has done it.
    func settle(_ roomId: String, as membership: MXMembership?) async throws {
        switch state.withLock({ $0.state }) {
        case .running, .syncInProgress, .backgroundSyncInProgress: break
        case .closed, .initialised, .storeDataReady, .processingBackgroundSyncCache, .homeserverNotReachable,
            .syncError,
            .paused, .pauseRequested, .initialSyncFailed:
            return
        }
        do {
            try await wait(for: roomId, membership, bound: Self.settlingBound)
        } catch let error as MatrixError where error.code == .timedOut || error == .sessionClosed {}
    }

    func appeared(_ roomId: String, as membership: MXMembership) async throws -> MXRoom {
        try await wait(for: roomId, membership)
        guard let room = room(roomId) else {
            throw MatrixError(.roomNotFound, "room \(roomId) has gone again", roomId: roomId)
        }
        return room
    }

    func disappeared(_ roomId: String) async throws { try await wait(for: roomId, nil) }

    private func wait(
        for roomId: String, _ membership: MXMembership?, bound: Duration = SessionCore.bound
    ) async throws {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let timer = Task {
            try await Task.sleep(for: bound)
            self.endWait(
                id,
                .failure(
                    MatrixError(
                        .timedOut, "the homeserver has done it, but no sync has told of room \(roomId) yet",
                        roomId: roomId)))
        }
        defer { timer.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<Void, any Error>? in
                    guard let model = state.model else { return .failure(MatrixError.sessionClosed) }
                    if model.has(roomId, membership) { return .success(()) }
                    state.waiters.append(
                        RoomWaiter(id: id, roomId: roomId, membership: membership, continuation: continuation))
                    return Task.isCancelled ? .failure(CancellationError()) : nil
                }
                switch outcome {
                case .success, .failure:
                    state.withLock { state in state.waiters.removeAll { $0.id == id } }
                    outcome.map { continuation.resume(with: $0) }
                case nil: break
                }
            }
        } onCancel: {
            endWait(id, .failure(CancellationError()))
        }
    }

    private func endWait(_ id: Int, _ result: Result<Void, any Error>) {
        let waiter = state.withLock { state -> RoomWaiter? in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            return state.waiters.remove(at: index)
        }
        waiter?.continuation.resume(with: result)
    }

    /// Called when a sync was told of.
    func endWaits() {
        let done = state.withLock { state -> [RoomWaiter] in
            guard let model = state.model else { return [] }
            let done = state.waiters.filter { model.has($0.roomId, $0.membership) }
            state.waiters.removeAll { model.has($0.roomId, $0.membership) }
            return done
        }
        for waiter in done { waiter.continuation.resume() }
    }

    func failWaits(_ waiters: [RoomWaiter]) {
        for waiter in waiters { waiter.continuation.resume(throwing: MatrixError.sessionClosed) }
    }
}

extension SessionModel {
    fileprivate func has(_ roomId: String, _ membership: MXMembership?) -> Bool {
        rooms[roomId]?.summary.membership == membership
    }
}
