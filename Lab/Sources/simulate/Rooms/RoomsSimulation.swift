import Basics
import CurlTransport
import MatrixProtocol

/// One account: the session's model and its store, and the homeserver that knows the truth.
@NetworkActor
final class RoomsSimulation: Simulation {
    typealias Kind = RoomsKind

    let schedule: RoomsSchedule
    let stage: Stage
    var statistics = Statistics<RoomsKind>()

    let disk: RoomsDisk
    var model = SessionModel(userId: RoomsServer.me)
    /// The number of the process: answers to an earlier one are ignored.
    var life = 0
    var server = RoomsServer()
    var ledger = RoomsLedger()
    var fate = RoomsSchedule.Fate.fine
    var syncFate = RoomsSchedule.Fate.fine
    /// The position of the listener.
    var mark: RoomsMark?
    /// The position at which the next sync starts, after the stored one.
    var catchUp: RoomsMark?
    /// The pending sync request.
    var request: RoomsSync?
    var (endsBeforeCommit, endsBeforeTelling) = (false, false)
    /// Messages to the device that were delivered since the last answer.
    var toldToDevice: [String] = []

    nonisolated var nextDeadline: MonotonicInstant? { nil }

    init(_ schedule: RoomsSchedule, isRecording: Bool) {
        self.schedule = schedule
        stage = Stage(seed: schedule.seed, isRecording: isRecording)
        guard let disk = try? RoomsDisk() else { preconditionFailure("a store in memory cannot be opened") }
        self.disk = disk
        server.namesTransactions = schedule.options.namesTransactions
        server.marksRejoinings = schedule.options.marksRejoinings
        after(.zero) { [unowned self] in sync() }
    }

    static func id(_ room: Int) -> String { "!\(room):s" }

    static func room(_ id: String) -> Int? { id.dropFirst().first?.wholeNumberValue }

    func checkAlways() {}

    // MARK: Steps

    func perform(_ happening: RoomsSchedule.Happening) {
        switch happening {
        case .deed(let deed, let room, let count):
            for _ in 0..<count { perform(deed, in: room) }
            answerIfThereIsNews()
        case .call(let call, let room): make(call, in: room)
        case .fate(let fate): self.fate = fate
        case .syncFate(let fate): syncFate = fate
        case .syncing(let isSyncing):
            ledger.isSyncing = isSyncing
            sync()
        case .restart: restart()
        case .endBeforeCommit: endsBeforeCommit = true
        case .endBeforeTelling: endsBeforeTelling = true
        case .streamReset:
            statistics.count(.streamResets)
            server.reset()
            answerIfThereIsNews()
        }
    }

    func perform(_ deed: RoomsSchedule.Deed, in room: Int) {
        let others = server.members(of: room).subtracting([RoomsServer.me]).sorted()
        let shown = server.rooms[room].events.filter(server.isShown)
        switch deed {
        case .message: server.sendToDevice()
        case .say: if !others.isEmpty { server.say(room, by: random.pick(others)) }
        case .react:
            if !others.isEmpty, !shown.isEmpty {
                server.react(room, to: random.pick(shown.suffix(6)).id, by: random.pick(others))
            }
        case .edit: if !shown.isEmpty { server.edit(room, random.pick(shown.suffix(6))) }
        case .redact:
            let events = server.rooms[room].events.suffix(12).filter { $0.stateKey == nil && $0.redacts == nil }
            if !events.isEmpty { server.redact(room, random.pick(events)) }
        case .redactLast: if let last = shown.last { server.redact(room, last) }
        case .topic:
            let number = server.position
            server.add(room, "m.room.topic", by: others.first ?? "@x:s", #"{"topic":"\#(number)"}"#, stateKey: "")
        case .come: server.setMembership("join", of: random.pick(RoomsServer.others), in: room)
        case .go: if others.count > 1 { server.setMembership("leave", of: random.pick(others), in: room) }
        case .rename:
            guard let user = others.first else { return }
            server.setMembership("join", of: user, in: room, name: "N\(server.position)")
        case .ownSay: if server.isJoined(RoomsServer.me, room) { server.say(room, by: RoomsServer.me) }
        case .ownLeave:
            if server.isJoined(RoomsServer.me, room) { server.setMembership("leave", of: RoomsServer.me, in: room) }
        case .ownJoin:
            if !server.isJoined(RoomsServer.me, room) { server.setMembership("join", of: RoomsServer.me, in: room) }
        case .ownRead:
            if server.isJoined(RoomsServer.me, room), let last = server.rooms[room].events.last {
                server.read(room, upTo: last.position)
            }
        }
    }

    func restart() {
        statistics.count(.restarts)
        life += 1
        request = nil
        (endsBeforeCommit, endsBeforeTelling) = (false, false)
        toldToDevice = []
        let stored = disk.open(userId: RoomsServer.me, deviceId: nil)
        model = SessionModel(userId: RoomsServer.me, stored: stored, now: .now)
        catchUp = schedule.options.catchesUp && model.syncToken != nil ? mark : nil
        catchUp?.restore(&ledger)
        for message in stored.toDevice { told(message) }
        // The last answer may have been stored, but not delivered.
        for room in 0..<RoomsSchedule.rooms {
            if let known = model.rooms[Self.id(room)] { note(known.summary, of: room) }
        }
        var changes = MXStoreChanges()
        changes.outgoing = model.failInterruptedMessages()
        commit(changes)
        sync()
    }

    func commit(_ changes: MXStoreChanges) {
        do throws(MatrixError) {
            try disk.commit(changes)
        } catch {
            check(false, "the store fails: \(error)")
        }
    }

    // MARK: The calm

    func heal() {
        log("nothing goes wrong any more")
        (fate, syncFate) = (.fine, .fine)
        (endsBeforeCommit, endsBeforeTelling) = (false, false)
        ledger.isSyncing = true
        sync()
        for round in 1...3 {
            after(.seconds(20 * round)) { [unowned self] in
                for room in 0..<RoomsSchedule.rooms {
                    if ledger.receipts.contains(room) { make(.read, in: room) }
                    make(.loadMembers, in: room)
                    for event in model.rooms[Self.id(room)]?.outgoing ?? [] where event.state == .failed {
                        make(.resend, in: room)
                    }
                }
            }
        }
        after(.seconds(90)) { [unowned self] in compareAtRest() }
        // Each page requests the next.
        after(.seconds(91)) { [unowned self] in for room in 0..<RoomsSchedule.rooms { pageToTheBeginning(of: room) } }
        after(.seconds(150)) { [unowned self] in
            compareHistory()
            for room in 0..<RoomsSchedule.rooms { make(.read, in: room) }
        }
        after(.seconds(160)) { [unowned self] in
            for room in 0..<RoomsSchedule.rooms { perform(.say, in: room) }
            answerIfThereIsNews()
        }
        after(.seconds(170)) { [unowned self] in
            compareCounts()
            ledger.isClosed = true
            request = nil
            stage.isOver = true
        }
    }

    private func pageToTheBeginning(of room: Int) {
        guard model.rooms[Self.id(room)]?.summary.paginationToken != nil else { return }
        page(room, limit: 10) { [unowned self] in pageToTheBeginning(of: room) }
    }
}
