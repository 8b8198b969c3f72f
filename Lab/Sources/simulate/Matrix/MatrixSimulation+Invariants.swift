import Basics
import MatrixProtocol
import Realtime

/// The invariants.
extension MatrixSimulation {
    func checkAlways() {
        guard ledger.isClosed else { return }
        check(nextDeadline == nil, "a deadline is left after the session is closed")
    }

    // MARK: Orders

    func inspect(_ action: SyncLoop.Action) {
        log("session: \(action)")
        switch action {
        case .poll(let poll):
            statistics.count(.requests)
            if poll.serverTimeout > .zero { statistics.count(.longPolls) }
            check(ledger.wantsToRun && !ledger.isClosed, "a request is made though nobody wants it to run")
            check(!ledger.isHeld || poll.serverTimeout == .zero, "more is asked for though it is held")
            check(!ledger.hasStopped, "a request is made though the login was refused")
            if let due = ledger.retryDue { check(now + .milliseconds(1) >= due, "a retry comes before its time") }
            ledger.retryDue = nil
            ledger.requests.removeAll { now - $0 > .seconds(10) }
            ledger.requests.append(now)
            check(ledger.requests.count <= 150, "\(ledger.requests.count) requests in ten seconds")
        case .cancelPoll:
            statistics.count(.cancelled)
            check(request?.poll != nil, "a request is given up that is not there")
        case .lend: statistics.count(.background)
        case .synced:
            statistics.count(.synced)
            check(ledger.hasApplied, "a sync is told, and nothing was applied")
            ledger.hasApplied = false
        case .changed(let old, let new): changed(from: old, to: new)
        case .failed(let problem, let delay): failed(problem, retryAfter: delay)
        case .held, .resumed: check(false, "a reader is reported, and there is none")
        }
    }

    private func changed(from old: MXSessionState, to new: MXSessionState) {
        check(old == ledger.state, "\(old) → \(new) follows \(ledger.state)")
        check(old != new && old != .closed, "\(old) → \(new)")
        ledger.state = new
        ledger.runsSince = new == .running ? now : nil
    }

    private func failed(_ problem: SyncLoop.Problem, retryAfter delay: Duration?) {
        let configuration = schedule.options.configuration
        var least = Duration.zero
        switch problem {
        case .unreachable: statistics.count(.unreachable)
        case .timedOut: statistics.count(.timedOut)
        case .refused(let wait):
            statistics.count(.refused)
            least = max(wait ?? .zero, configuration.errorDelay)
        case .unauthenticated: statistics.count(.unauthenticated)
        case .notStored:
            statistics.count(.notStored)
            least = configuration.errorDelay
        }
        check((problem == .unauthenticated) == (delay == nil), "\(problem), and it retries after \(delay ?? .zero)")
        guard let delay else { return ledger.hasStopped = true }
        let policy = configuration.connection.reconnectPolicy
        ledger.failures.connectionEnds(since: ledger.runsSince, now: now)
        let longest = max(least, policy.longestDelay(attempt: ledger.failures.most))
        check(delay >= least && delay <= longest, "it waits \(delay), not between \(least) and \(longest)")
        check(ledger.failures.failed(thenWaits: delay, policy), "it waits only \(delay)")
        ledger.retryDue = now + delay
    }

    // MARK: Notices

    func told(_ applied: SessionModel.Applied, _ response: SyncResponse) {
        ledger.hasApplied = true
        for notice in applied.notices {
            switch notice {
            case .gap(let roomId, _):
                statistics.count(.gaps)
                if let room = Self.room(roomId) { ledger.rooms[room].mayJump = true }
            case .live(let live): told(live)
            case .ephemeral, .roomAccountData, .accountData, .presence, .toDevice, .joined, .invited, .knocked, .left,
                .changed, .relationsChanged, .echoConfirmed, .unreadChanged, .summaryChanged, .directRoomsChanged,
                .ignoredUsersChanged, .decrypted, .encryption:
                break
            }
        }
        if applied.changes.replacesEverything { beganAnew(response) }
    }

    private func told(_ live: LiveEvent) {
        statistics.count(.events)
        guard let room = Self.room(live.roomId), let number = Self.number(live.event) else { return }
        let last = ledger.rooms[room].lastNumber ?? 0
        check(number > last, "event \(number) of room \(room) comes again, or out of order")
        check(
            number == last + 1 || ledger.rooms[room].mayJump,
            "event \(number) of room \(room) comes where \(last + 1) should, and no gap was told")
        (ledger.rooms[room].lastNumber, ledger.rooms[room].mayJump) = (number, false)
    }

    /// Events of a first sync are history: they are known, but not delivered.
    private func beganAnew(_ response: SyncResponse) {
        statistics.count(.firstSyncs)
        for section in response.joined {
            guard let room = Self.room(section.roomId) else { continue }
            let number = section.timeline.events.last.flatMap { Self.number($0) } ?? 0
            if let last = ledger.rooms[room].lastNumber, last < number {
                check(ledger.rooms[room].mayJump, "events of room \(room) were missed, and no gap was told")
            }
            (ledger.rooms[room].lastNumber, ledger.rooms[room].mayJump) = (number, false)
        }
    }

    private static func room(_ id: String) -> Int? { id.dropFirst().first?.wholeNumberValue }

    private static func number(_ event: MXEvent) -> Int? {
        event.eventId.split(separator: "-").last.flatMap { Int($0) }
    }
}
