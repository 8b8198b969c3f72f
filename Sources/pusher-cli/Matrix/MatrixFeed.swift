import Dispatch
import MatrixSDK
import PusherSwift
import Transport

/// What of an account's events is to be printed, and the session that they come from.
final class MatrixFeed: Sendable {
    struct Selection: Sendable {
        /// Ids; nil is every room, and the account.
        var roomIDs: Set<String>?
        /// Only what the user's push rules say is to be told.
        var isNotificationsOnly = false
    }

    private struct State {
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
    private let selection: Selection
    private let accountChannel: String
    private let state = Lock(State())

    init(_ account: MatrixAccount, selection: Selection) {
        // A first sync is history, of which nothing is printed.
        session = account.session(firstMessages: 1)
        self.selection = selection
        accountChannel = "matrix:" + account.userID
        // Nobody waits for these callbacks; the main queue may be blocked by whoever reads the output.
        account.client.completionQueue = DispatchQueue(label: "matrix")
    }

    func start(on pusher: Pusher) {
        try? session.setStore(store)  // fails for a session that was started already, which this one was not
        pusher.attach(session)
        let session = session
        // What goes wrong is told as an error of the source's.
        Task { try? await session.start() }
    }

    func close() { session.close() }

    /// Whether it has failed since it ran last, and is tried again.
    var isFailing: Bool { state.withLock { $0.failure != nil } }

    // MARK: What comes

    static func isItsOwn(_ event: PusherEvent) -> Bool { event.channelName?.hasPrefix("matrix:") == true }

    struct StateChange {
        let old: MXSessionState
        let new: MXSessionState
        /// Whether the first sync is over with it.
        var isFirstRun = false
    }

    /// Nil if the event is about something else.
    func stateChange(_ event: PusherEvent) -> StateChange? {
        guard event.eventName == MatrixEventName.syncState, event.channelName == accountChannel else { return nil }
        return state.withLock { state in
            let name = event.data.flatMap { JSONView(Array($0.utf8)) }?["state"]?.string
            guard let new = Self.states.first(where: { $0.description == name }), new != state.sync else { return nil }
            defer { state.sync = new }
            guard new == .running else { return StateChange(old: state.sync, new: new) }
            defer { state.hasRun = true }
            state.failure = nil
            return StateChange(old: state.sync, new: new, isFirstRun: !state.hasRun)
        }
    }

    private static let states = (0...20).compactMap(MXSessionState.init(rawValue:))

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
    func record(of event: PusherEvent, withNames: Bool) -> MatrixEventRecord? {
        if let roomID = MatrixEventRecord.roomID(of: event) { trim(roomID) }
        // What comes before is as old as the account.
        guard state.withLock({ $0.hasRun }), event.notify || !selection.isNotificationsOnly else { return nil }
        var record = MatrixEventRecord(event)
        if let wanted = selection.roomIDs {
            guard let roomID = record.roomID, wanted.contains(roomID) else { return nil }
        }
        if withNames, let roomID = record.roomID, let room = session.room(withRoomId: roomID) {
            record.names.room = room.displayName
            record.names.sender = record.userID.flatMap { room.state?.members.memberName($0) }
        }
        return record
    }

    func wants(_ gap: PusherGap) -> Bool {
        guard gap.channelName.hasPrefix("matrix:") else { return false }
        return selection.roomIDs?.contains(String(gap.channelName.dropFirst("matrix:".count))) ?? true
    }

    /// Whether it is the first of its kind since the sync ran.
    func isNew(_ error: PusherError) -> Bool {
        state.withLock { state in
            defer { state.failure = error.message }
            return state.failure != error.message
        }
    }

    /// Rooms that are waited for in vain, as it looks.
    var absentRooms: [String] {
        (selection.roomIDs ?? []).filter { session.room(withRoomId: $0) == nil }.sorted()
    }
}
