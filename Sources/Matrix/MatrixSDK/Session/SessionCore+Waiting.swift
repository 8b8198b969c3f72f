import Basics
import MatrixProtocol

/// Somebody who waits for a room to come or to go.
struct RoomWaiter: Sendable {
    /// - Parameter room: Nil: we are not in it, nor invited.
    typealias Condition = @Sendable (_ room: RoomModel?) -> Bool

    let id: UUID
    let roomId: String
    /// Called with the account's lock held.
    let condition: Condition
    let continuation: CheckedContinuation<Void, any Error>
}

/// Waiting for a sync to bring what a call has done.
extension SessionCore {
    /// How long a sync may take to bring a room that was joined or created.
    private static let bound = Duration.seconds(60)
    /// The same for those who can go on without.
    private static let settlingBound = Duration.seconds(15)

    /// Waits for the coming or going of a room if a sync is to tell of it soon. That it does not is no error: the homeserver
    /// has done it.
    func settle(_ roomId: String, _ condition: @escaping RoomWaiter.Condition) async throws {
        guard isSyncing else { return }
        do {
            try await wait(for: roomId, bound: Self.settlingBound, condition)
        } catch let error as MatrixError where error.code == .timedOut || error == .sessionClosed {}
    }

    /// Whether a sync is to come soon.
    private var isSyncing: Bool {
        switch state.withLock({ $0.state }) {
        case .running, .syncInProgress, .backgroundSyncInProgress: true
        case .closed, .initialised, .storeDataReady, .processingBackgroundSyncCache, .homeserverNotReachable,
            .syncError,
            .paused, .pauseRequested, .initialSyncFailed:
            false
        }
    }

    /// A room that was joined or created, when a sync has brought it.
    ///
    /// - Throws: If none does in time, or the session is not syncing. The homeserver has done it nevertheless.
    func appeared(
        _ roomId: String, _ condition: @escaping RoomWaiter.Condition = { $0.isJoined }
    ) async throws -> MXRoom {
        switch state.withLock({ $0.state }) {
        case .initialised, .storeDataReady, .paused:
            guard account.model({ condition($0.rooms[roomId]) }) == true else {
                throw MatrixError(
                    .cancelled, "the homeserver has done it; room \(roomId) is here when the session has synced",
                    roomId: roomId)
            }
        case .closed, .processingBackgroundSyncCache, .syncInProgress, .backgroundSyncInProgress, .running,
            .homeserverNotReachable, .syncError, .pauseRequested, .initialSyncFailed:
            try await wait(for: roomId, condition)
        }
        guard let room = room(roomId) else {
            throw MatrixError(.roomNotFound, "room \(roomId) has gone again", roomId: roomId)
        }
        return room
    }

    func disappeared(_ roomId: String) async throws { try await settle(roomId) { $0 == nil } }

    private func wait(
        for roomId: String, bound: Duration = SessionCore.bound, _ condition: @escaping RoomWaiter.Condition
    ) async throws {
        let id = UUID()
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
                let outcome = account.add(
                    RoomWaiter(id: id, roomId: roomId, condition: condition, continuation: continuation))
                outcome.map { continuation.resume(with: $0) }
            }
        } onCancel: {
            endWait(id, .failure(CancellationError()))
        }
    }

    private func endWait(_ id: UUID, _ result: Result<Void, any Error>) {
        account.takeWaiter(id)?.continuation.resume(with: result)
    }

    /// Called when a sync was told of.
    func endWaits() { for waiter in account.takeDoneWaiters() { waiter.continuation.resume() } }
}

extension RoomModel? {
    /// Whether we are in the room.
    var isJoined: Bool { self?.summary.membership == .join }
}

/// What is seen of a room when all is here that it was created with: a sync may bring it in pieces.
struct RoomCreation: Sendable {
    let name: String?
    let isEncrypted: Bool

    init(_ parameters: MXRoomCreationParameters) {
        name = parameters.name.flatMap { $0.isEmpty ? nil : $0 }
        isEncrypted =
            parameters.isEncrypted
            || parameters.initialStateEvents?.contains { $0["type"] as? String == "m.room.encryption" } == true
    }

    func isComplete(_ room: RoomModel?) -> Bool {
        guard room.isJoined, let state = room?.state else { return false }
        return (name == nil || state.name != nil) && (!isEncrypted || state.isEncrypted)
    }
}
