import Basics
import MatrixProtocol

/// A caller that waits for a room to appear or disappear.
struct RoomWaiter: Sendable {
    /// - Parameter room: `nil` if the user is neither in the room nor invited.
    typealias Condition = @Sendable (_ room: RoomModel?) -> Bool

    let id: UUID
    let roomId: String
    /// Called with the account's lock held.
    let condition: Condition
    let continuation: CheckedContinuation<Void, any Error>
}

/// Waiting for a sync to bring the result of a call.
extension SessionCore {
    /// How long to wait for a sync that brings a joined or created room.
    private static let bound = Duration.seconds(60)
    /// Like ``bound``, for callers that can continue without.
    private static let settlingBound = Duration.seconds(15)

    /// Waits for a room to appear or disappear if a sync is expected soon. It is not an error if that does not happen:
    /// the homeserver has made the change.
    func settle(_ roomId: String, _ condition: @escaping RoomWaiter.Condition) async throws {
        guard isSyncing else { return }
        do {
            try await wait(for: roomId, bound: Self.settlingBound, condition)
        } catch let error as MatrixError where error.code == .timedOut || error == .sessionClosed {}
    }

    /// Whether a sync is expected soon.
    private var isSyncing: Bool {
        switch state.withLock({ $0.state }) {
        case .running, .syncInProgress, .backgroundSyncInProgress: true
        case .closed, .initialised, .storeDataReady, .processingBackgroundSyncCache, .homeserverNotReachable,
            .syncError,
            .paused, .pauseRequested, .initialSyncFailed:
            false
        }
    }

    /// Returns a joined or created room once a sync has brought it.
    ///
    /// - Throws: If no sync does in time, or the session is not syncing. The homeserver has made the change
    ///   nevertheless.
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

    /// Call this after delivering a sync.
    func endWaits() { for waiter in account.takeDoneWaiters() { waiter.continuation.resume() } }
}

extension RoomModel? {
    var isJoined: Bool { self?.summary.membership == .join }
}

/// The visible parts of a created room once it is complete: a sync may bring it in pieces.
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
