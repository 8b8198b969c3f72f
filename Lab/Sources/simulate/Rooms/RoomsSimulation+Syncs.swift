import Basics
import CurlTransport
import MatrixProtocol

/// One request for `/sync`.
@NetworkActor
final class RoomsSync {
    let since: String?
    /// Whether it begins after the stored position.
    let catchesUp: Bool
    var isWaiting = false

    init(since: String?, catchesUp: Bool) {
        (self.since, self.catchesUp) = (since, catchesUp)
    }
}

/// Syncs like those of `SessionCore`.
extension RoomsSimulation {
    private static let latency = Duration.milliseconds(5)

    func sync() {
        guard request == nil, ledger.isSyncing, !ledger.isClosed else { return }
        let new = RoomsSync(since: catchUp?.token ?? model.syncToken, catchesUp: catchUp != nil)
        request = new
        after(Self.latency) { [unowned self] in
            guard request === new else { return }
            guard server.hasNews(since: new.since) else {
                new.isWaiting = true
                after(.seconds(15)) { [unowned self] in if new.isWaiting { answer(new) } }
                return
            }
            answer(new)
        }
    }

    func answerIfThereIsNews() {
        if let request, request.isWaiting, server.hasNews(since: request.since) { answer(request) }
    }

    private func answer(_ asking: RoomsSync) {
        guard request === asking else { return }
        asking.isWaiting = false
        let answer = server.sync(since: asking.since, schedule.options.filter)
        switch syncFate {
        case .fine: after(Self.latency) { [unowned self] in received(answer, asking) }
        case .late(let wait): after(wait) { [unowned self] in received(answer, asking) }
        case .requestLost, .answerLost:
            statistics.count(.lostSyncs)
            syncFate = .fine
            after(.seconds(1)) { [unowned self] in end(asking) }
        }
    }

    /// The server no longer knows the position.
    private func stopCatchingUp() {
        catchUp = nil
        for room in 0..<RoomsSchedule.rooms where model.rooms[Self.id(room)]?.summary.membership == .join {
            statistics.count(.gaps)
            ledger.rooms[room].mayJump = true
        }
    }

    private func end(_ ending: RoomsSync) {
        guard request === ending else { return }
        request = nil
        sync()
    }

    private func received(_ answer: RoomsServer.SyncAnswer?, _ asking: RoomsSync) {
        guard request === asking else { return }
        guard let answer else {
            if asking.catchesUp { stopCatchingUp() } else { model.forgetSyncToken() }
            return end(asking)
        }
        log("answer: \(answer.text)")
        do {
            let response = try SyncResponse(Array(answer.text.utf8))
            // As in `StoredAccount`, an answer that cannot be applied as a whole changes nothing.
            var new = model
            var applied = try new.apply(response, store: disk, now: .now, tellsKnown: asking.catchesUp)
            if endsBeforeCommit {
                log("the process ends before it stores the answer")
                return restart()
            }
            let old = model
            applied.changes.toldToDevice = toldToDevice
            toldToDevice = []
            try disk.commit(applied.changes)
            statistics.count(.syncs)
            if endsBeforeTelling {
                log("the process ends before it tells of the answer, or of all of it")
                let written = applied.notices.prefix(random.below(applied.notices.count + 1))
                for case .live(let live) in written { mark?.toldSince.insert(live.event.eventId) }
                for room in ledger.rooms.indices {
                    (ledger.rooms[room].position, ledger.rooms[room].mayJump) = (answer.position, false)
                    if new.rooms[Self.id(room)] == nil { ledger.rooms[room] = .init(hasBeenLeft: true) }
                }
                return restart()
            }
            model = new
            if asking.catchesUp { statistics.count(.catchUps) }
            told(applied, response, upTo: answer.position, before: old)
            catchUp = nil
            mark = model.syncToken.map { RoomsMark(token: $0, ledger) }
        } catch {
            check(false, "an answer cannot be applied: \(error)")
        }
        end(asking)
    }
}
