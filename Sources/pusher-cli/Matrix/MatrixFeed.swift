import Dispatch
import MatrixSDK
import PusherSwift
import Basics

/// What of an account's events is to be printed, and the session that they come from.
final class MatrixFeed: Feed {
    private struct State {
        /// Ids of the rooms wanted, as far as they are known; nil is every room, and the account.
        var roomIDs: Set<String>?
        var sync = MXSessionState.initialised
        /// Said once until the sync runs again.
        var failure: String?
        /// Whether the first sync is over.
        var hasRun = false
        /// Events of each room since its timeline was trimmed.
        var arrivals: [String: Int] = [:]
    }

    /// Names need the state of rooms, not their messages.
    private static let storedMessages = 20

    private let session: MXSession
    private let store = MXMemoryStore(eventsPerRoom: storedMessages)
    private let client: MXRestClient
    private let rooms: [RoomReference]
    /// Only what the user's push rules say is to be told.
    private let isNotificationsOnly: Bool
    private let accountChannel: String
    private let state: Lock<State>

    /// - Parameter rooms: None is every room, and the account.
    init(_ account: MatrixAccount, rooms: [RoomReference], isNotificationsOnly: Bool) {
        // A first sync is history, of which nothing is printed.
        session = account.session(firstMessages: 1)
        (client, self.rooms, self.isNotificationsOnly) = (account.client, rooms, isNotificationsOnly)
        state = Lock(State(roomIDs: rooms.isEmpty ? nil : Set(rooms.filter(\.isID).map(\.text))))
        accountChannel = "matrix:" + account.userID
        // Nobody waits for these callbacks; the main queue may be blocked by whoever reads the output.
        account.client.completionQueue = DispatchQueue(label: "matrix")
    }

    func start(
        _ report: @escaping @Sendable (FeedReport) -> Void, failed: @escaping @Sendable (any Error) -> Void
    ) {
        session.observe {
            report(.event($0))
        } others: {
            FeedReport($0).map(report)
        }
        try? session.setStore(store)  // fails for a session that was started already, which this one was not
        Task {
            do {
                try await resolveAliases()
            } catch {
                return failed(error)
            }
            try? await session.start()
        }
    }

    private func resolveAliases() async throws {
        for room in rooms where room.isAlias {
            let id = try await room.roomID(for: client)
            state.withLock { _ = $0.roomIDs?.insert(id) }
        }
    }

    /// Finds the rooms that are wanted by their names, after the first sync.
    private func resolveNames() throws(CommandFailure) {
        for room in rooms where !room.isID && !room.isAlias {
            let joined = session.roomsSummaries.filter { $0.membership == .join }
            let id = try RoomReference.named(room.text, among: joined).roomId
            state.withLock { _ = $0.roomIDs?.insert(id) }
        }
    }

    func close() { session.close() }

    /// Only a login that is not valid any more ends a sync.
    func end(by failure: SourceFailure) -> ExitStatus? { .refused }

    var isFailing: Bool { state.withLock { $0.failure != nil } }

    // MARK: What comes

    func news(of event: RealtimeEvent, forPeople: Bool) -> FeedNews? {
        guard event.eventName != MatrixEventName.syncState || event.channelName != accountChannel else {
            return nil  // told as a state
        }
        return record(of: event, withNames: forPeople).map { record in
            FeedNews(record: .matrixEvent(record), counts: record.counts)
        }
    }

    func news(of state: SourceState) throws(CommandFailure) -> FeedNews? {
        guard let new = state.underlying as? MXSessionState, let change = stateChange(to: new) else { return nil }
        var news = FeedNews(record: .matrixState(from: change.old, to: change.new))
        news.isConnected = change.new == .running
        guard change.isFirstRun else { return news }
        try resolveNames()
        news.warnings = absentRooms.map { "you are not in \($0), so you get nothing from there until you are" }
        return news
    }

    private struct StateChange {
        let old: MXSessionState
        let new: MXSessionState
        /// Whether the first sync is over with it.
        var isFirstRun = false
    }

    /// Nil if it is no change.
    private func stateChange(to new: MXSessionState) -> StateChange? {
        state.withLock { state in
            guard new != state.sync else { return nil }
            defer { state.sync = new }
            guard new == .running else { return StateChange(old: state.sync, new: new) }
            defer { state.hasRun = true }
            state.failure = nil
            return StateChange(old: state.sync, new: new, isFirstRun: !state.hasRun)
        }
    }

    /// Lets go of old messages of a room where many come.
    private func trim(_ roomID: String) {
        let isTime = state.withLock { state in
            state.arrivals[roomID, default: 0] += 1
            guard state.arrivals[roomID, default: 0] > Self.storedMessages else { return false }
            state.arrivals[roomID] = nil
            return true
        }
        if isTime { _ = try? store.trimTimeline(of: roomID) }  // a store in memory fails only when it is closed
    }

    /// Nil if nobody wants to see it.
    ///
    /// - Parameter withNames: Whether it is for people.
    private func record(of event: RealtimeEvent, withNames: Bool) -> MatrixEventRecord? {
        if let roomID = MatrixEventRecord.roomID(of: event) { trim(roomID) }
        // What comes before is as old as the account.
        let (hasRun, roomIDs) = state.withLock { ($0.hasRun, $0.roomIDs) }
        guard hasRun, event.notify || !isNotificationsOnly else { return nil }
        var record = MatrixEventRecord(event)
        if let wanted = roomIDs {
            guard let roomID = record.roomID, wanted.contains(roomID) else { return nil }
        }
        if withNames, let roomID = record.roomID, let room = session.room(withRoomId: roomID) {
            record.names.room = room.displayName
            record.names.sender = record.userID.flatMap { room.state?.members.memberName($0) }
        }
        return record
    }

    func wants(_ gap: SourceGap) -> Bool {
        state.withLock { $0.roomIDs }?.contains(String(gap.channelName.dropFirst("matrix:".count))) ?? true
    }

    func isNew(_ failure: SourceFailure) -> Bool {
        state.withLock { state in
            defer { state.failure = failure.message }
            return state.failure != failure.message
        }
    }

    /// Rooms that are waited for in vain, as it looks.
    private var absentRooms: [String] {
        (state.withLock { $0.roomIDs } ?? []).filter { session.room(withRoomId: $0) == nil }.sorted()
    }
}
