import Basics
import CommandKit
import Dispatch
import MatrixProtocol
import MatrixSDK
import PusherSwift

/// The selected events of an account, and the session that provides them.
final class MatrixFeed: Feed {
    /// The earlier events to report.
    enum Past {
        case nothing
        /// Events since the last `listen`.
        case missed
        /// Events since a point in time, stored or fetched.
        case since(Date)
    }

    private struct State {
        /// The ids of the selected rooms, as far as known; `nil` selects every room and the account.
        var roomIDs: Set<String>?
        var sync = MXSessionState.initialised
        /// A failure, reported once until the sync runs again.
        var failure: String?
        /// Whether the first sync has finished.
        var hasRun = false
        var areNamesResolved = false
        var file: MXFileStore?
        /// The key agent, while this process has the keys of the login.
        var agent: KeyAgent?
        /// Whether another process has the store. Keys meant for it must not be received here.
        var isCopy = false
        /// The position up to which the stream was reported, by this run or an earlier one.
        var mark: ListeningMark?
        /// The mark from which events before the end of the first sync are reported; `nil` reports none.
        var caughtUpFrom: ListeningMark?
        /// The time from which a message may wait for its sender's keys.
        var waitsForKeys = ContinuousClock.now
    }

    private let account: MatrixAccount
    private let session: MXSession
    private let client: MXRestClient
    private let rooms: [RoomReference]
    /// Whether to report only events for which the user's push rules notify.
    private let isNotificationsOnly: Bool
    private let past: Past
    private let accountChannel: String
    let serverName: String
    private let state: Lock<State>

    /// - Parameters:
    ///   - rooms: The rooms to select; empty selects every room and the account.
    init(_ account: MatrixAccount, rooms: [RoomReference], isNotificationsOnly: Bool, past: Past) {
        self.account = account
        session = account.makeSession(beginsEncryption: true)
        (client, self.rooms, self.isNotificationsOnly) = (account.client, rooms, isNotificationsOnly)
        self.past = past
        state = Lock(State(roomIDs: rooms.isEmpty ? nil : Set(rooms.filter(\.isID).map(\.text))))
        accountChannel = "matrix:" + account.userID
        serverName = account.serverName
        // No caller waits for these callbacks, and a slow reader of the output may block the main queue.
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
        Task {
            do {
                try await resolveAliases()
                try await openStore()
                if case .since(let date) = past { try await tellHistory(since: date, report) }
            } catch {
                return failed(error)
            }
            try? await session.start()
            await account.mentionVerificationOnceKnown(of: session, in: state.withLock { $0.file })
        }
    }

    /// The time to wait for a command that is about to end, so that others find this process's store.
    private static let patience = Duration.seconds(2)

    private func openStore() async throws(CommandFailure) {
        let store = await account.openStore(
            of: session, patience: Self.patience, notes: [ListeningMark.name], saysDamage: false)
        guard !store.ownerNeedsKeys else { throw account.isListenedTo }
        let mark = store.notes[ListeningMark.name].flatMap(ListeningMark.init)
        var from: ListeningMark?
        if case .missed = past, let mark {
            session.catchUp(since: mark.token, from: mark.date)
            from = mark
        }
        state.withLock { state in
            (state.file, state.mark, state.caughtUpFrom) = (store.file, mark, from)
            state.isCopy = store.file == nil
        }
        if store.file != nil, session.hasKeys { await startAgent() }
    }

    private func startAgent() async {
        do throws(CommandFailure) {
            let agent = try await KeyAgent.start(SessionKeys(session: session, account: account), for: account.store)
            state.withLock { $0.agent = agent }
        } catch {
            StandardError.write("warning: other commands cannot use encrypted rooms while this one runs: \(error)")
        }
    }

    /// Throws if the event requires keys of encrypted rooms that another process must receive.
    private func checkKeys(_ event: RealtimeEvent) throws(CommandFailure) {
        guard [MXEventType.roomEncryption.identifier, MatrixEventName.join].contains(event.eventName),
            state.withLock({ $0.isCopy }),
            session.roomsSummaries.contains(where: { $0.isEncrypted && $0.membership == .join }), account.store.hasKeys
        else { return }
        throw account.isListenedTo
    }

    /// Reports the history of all rooms, ordered by the time of the senders' servers.
    private func tellHistory(since date: Date, _ report: @escaping @Sendable (FeedReport) -> Void) async throws {
        try await session.syncOnce()
        try resolveNames()
        let wanted = state.withLock { $0.roomIDs }
        var events: [MXEvent] = []
        for room in session.roomsSummaries where room.membership == .join && wanted?.contains(room.roomId) != false {
            guard let newest = try session.storedEvents(in: room.roomId, limit: 1).first, newest.date >= date else {
                continue
            }
            let history = try await RoomHistory(of: room, since: date, in: session)
            events += history.events.map { $0.inRoom(room.roomId) }
            if history.isCut, let oldest = history.events.first {
                let gap = SourceGap(channelName: "matrix:" + room.roomId, start: date, end: oldest.date)
                EventStream.queue.async { report(.news(FeedNews(record: .gap(PusherGap(gap))))) }
            }
        }
        // A device may have been signed since its keys were requested. If the server does not answer, the known state
        // counts.
        try? await session.crypto?.downloadKeys(Array(Set(events.filter { $0.wireType != $0.type }.map(\.sender))))
        for event in events.sorted(by: { $0.originServerTs < $1.originServerTs }) {
            let roomID = event.roomId ?? ""
            var record = MatrixEventRecord(event, in: roomID, session.pushDecision(for: event, in: roomID))
            guard record.notify || !isNotificationsOnly else { continue }
            addNames(to: &record)
            record.shield = session.crypto?.shield(of: event) ?? .none
            let news = FeedNews(record: .matrixEvent(record), counts: record.counts)
            EventStream.queue.async { report(.news(news)) }
        }
    }

    private func addNames(to record: inout MatrixEventRecord) {
        guard let roomID = record.roomID, let room = session.room(withRoomId: roomID) else { return }
        record.names.room = room.displayName
        record.names.sender = record.userID.flatMap { room.state?.members.memberName($0) }
        if let event = record.event { record.context = Self.context(of: event, in: room) }
    }

    private func resolveAliases() async throws {
        for room in rooms where room.isAlias {
            let id = try await room.roomID(for: client)
            state.withLock { _ = $0.roomIDs?.insert(id) }
        }
    }

    /// Finds the rooms that were selected by name, after the first sync.
    private func resolveNames() throws(CommandFailure) {
        let areResolved = state.withLock { state in
            defer { state.areNamesResolved = true }
            return state.areNamesResolved
        }
        if areResolved { return }
        for room in rooms where !room.isID && !room.isAlias {
            let joined = session.roomsSummaries.filter { $0.membership == .join }
            let id = try RoomReference.named(room.text, among: joined).roomId
            state.withLock { _ = $0.roomIDs?.insert(id) }
        }
    }

    func close() {
        saveMark()
        state.withLock { $0.agent }?.stop()
        session.close()
    }

    // MARK: Position

    func wrote(_ event: RealtimeEvent) {
        guard let id = MatrixEventRecord(event).event?.eventId, !id.isEmpty else { return }
        state.withLock { _ = $0.mark?.told.insert(id) }
    }

    func reached(_ position: String) {
        state.withLock { $0.mark = ListeningMark(token: position) }
        saveMark()
    }

    /// Saves the mark. If that fails, the next run reports the events again.
    private func saveMark() {
        let (file, mark) = state.withLock { ($0.file, $0.mark) }
        if let file, let mark { try? file.setNote(ListeningMark.name, mark.text) }
    }

    /// Only an invalid login ends a sync.
    func end(by failure: SourceFailure) -> ExitStatus? { .refused }

    var isFailing: Bool { state.withLock { $0.failure != nil } }

    // MARK: Events

    func news(of event: RealtimeEvent, forPeople: Bool) throws(CommandFailure) -> FeedNews? {
        guard event.eventName != MatrixEventName.syncState || event.channelName != accountChannel else {
            return nil  // reported as a state
        }
        try checkKeys(event)
        // While catching up, the sync that contains the event has already been applied.
        if !state.withLock({ $0.hasRun }) { try resolveNames() }
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
        /// Whether this change ends the first sync.
        var isFirstRun = false
    }

    /// Returns `nil` if the state is unchanged.
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

    /// Returns `nil` if the event is not selected.
    ///
    /// - Parameter withNames: Whether to look up names for display.
    private func record(of event: RealtimeEvent, withNames: Bool) -> MatrixEventRecord? {
        let (hasRun, roomIDs, from) = state.withLock { ($0.hasRun, $0.roomIDs, $0.caughtUpFrom) }
        // Events from before, apart from those being caught up with, may be as old as the account.
        guard hasRun || from != nil, event.notify || !isNotificationsOnly else { return nil }
        var record = MatrixEventRecord(event)
        if !hasRun, let from {
            guard record.staysTrue, !from.told.contains(record.event?.eventId ?? "") else { return nil }
            record.isCaughtUp = true
        }
        if let wanted = roomIDs {
            guard let roomID = record.roomID, wanted.contains(roomID) else { return nil }
        }
        record.shield = shield(of: record)
        if withNames {
            addNames(to: &record)
        } else if let end = record.event, end.pollPart == .end, let room = end.roomId.flatMap(session.room(withRoomId:))
        {
            record.context = Self.context(of: end, in: room)
        }
        return record
    }

    private func shield(of record: MatrixEventRecord) -> MXMessageShield {
        guard let crypto = session.crypto, let id = record.event?.eventId, !id.isEmpty,
            let room = record.roomID.flatMap(session.room(withRoomId:)), room.summary.isEncrypted,
            let event = room.storedEvent(id)
        else { return .none }
        let shield = crypto.shield(of: event)
        guard shield == .unsignedDevice || shield == .unknownDevice else { return shield }
        // The device may have been signed since its keys were requested. A sender's server that does not answer must
        // not delay the stream repeatedly.
        guard state.withLock({ $0.waitsForKeys <= .now }) else { return shield }
        let isAnswered = DispatchSemaphore(value: 0)
        Task {
            try? await crypto.downloadKeys([event.sender])
            isAnswered.signal()
        }
        if isAnswered.wait(timeout: .now() + .seconds(5)) == .timedOut {
            state.withLock { $0.waitsForKeys = .now + .seconds(60) }
        }
        return crypto.shield(of: event)
    }

    /// Returns the earlier messages of the room that an event refers to.
    private static func context(of event: MXEvent, in room: MXRoom) -> MatrixEventText.Context {
        var context = MatrixEventText.Context()
        if let answered = event.replyToEventId.flatMap(room.storedEvent)?.sender {
            context.repliedTo = room.state?.members.memberName(answered) ?? answered
        }
        guard let start = event.pollStartId.flatMap(room.storedEvent),
            case .poll(var poll) = MatrixMessageContent(room.edited(start))
        else { return context }
        let levels = room.state?.powerLevels
        func mayEnd(_ user: String) -> Bool { user == start.sender || levels?.mayEndPolls(user) == true }
        context.mayEndPoll = mayEnd(event.sender)
        // A stored timeline has no gaps: if it contains the poll, it contains everything after it.
        if event.pollPart == .end, context.mayEndPoll {
            poll.count(
                room.storedRelations(to: start.eventId), sender: start.sender, currentUser: room.mxSession?.myUserId,
                mayEnd: mayEnd)
        }
        context.poll = poll
        return context
    }

    func wants(_ gap: SourceGap) -> Bool {
        let isTold = state.withLock { $0.hasRun || $0.caughtUpFrom != nil }
        guard isTold else { return false }
        try? resolveNames()  // an invalid name is reported with the first state
        return state.withLock { $0.roomIDs }?.contains(String(gap.channelName.dropFirst("matrix:".count))) ?? true
    }

    func isNew(_ failure: SourceFailure) -> Bool {
        state.withLock { state in
            defer { state.failure = failure.message }
            return state.failure != failure.message
        }
    }

    /// Selected rooms that the user does not seem to be in.
    private var absentRooms: [String] {
        (state.withLock { $0.roomIDs } ?? []).filter { session.room(withRoomId: $0) == nil }.sorted()
    }
}
