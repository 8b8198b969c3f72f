import Basics
import PydioProtocol
import Realtime

/// The invariants.
extension PydioSimulation {
    func checkAlways() {
        guard ledger.isClosed else { return }
        check(ledger.state == .disconnected, "it is closed, and \(ledger.state)")
    }

    private var readsFeed: Bool { schedule.options.services.hasFeed && schedule.options.loop.usesFeed }

    // MARK: Orders

    func inspect(_ action: WorkspaceMachine.Action) {
        log("machine: \(action)")
        if case .tell = action {} else if case .sequence = action {} else { ledger.isAfterGap = false }
        switch action {
        case .perform(let request): inspect(request)
        case .cancelStep:
            statistics.count(.cancelled)
            check(request != nil, "a request is given up that is not there")
        case .unregister: check(ledger.isClosed, "the mailbox is closed before the end")
        case .openSocket:
            statistics.count(.sockets)
            check(ledger.wantsToRun && !ledger.isClosed, "a WebSocket is opened, and nobody wants it")
        case .pingSocket, .pauseSocket: check(socket != nil, "there is no WebSocket")
        case .dropSocket: break
        case .tell(let events): for event in events { told(event) }
        case .gap(let start, let end):
            statistics.count(.gaps)
            check(start <= end && end <= now, "a gap from \(start) to \(end)")
            (ledger.mayJump, ledger.isAfterGap, ledger.owesGap) = (true, true, false)
        case .sequence(let sequence): ledger.lastSequence = sequence
        case .changed(let new):
            check(Ledger.isLegal(ledger.state, new), "\(ledger.state) → \(new)")
            ledger.state = new
            ledger.connectedAt = new == .connected ? now : nil
            if new == .connected { statistics.count(.connected) }
        case .failed(let problem, let delay): failed(problem, retryAfter: delay)
        case .socketFailed: statistics.count(.socketFailures)
        case .held: statistics.count(.holds)
        case .resumed: break
        }
    }

    private func inspect(_ request: WorkspaceMachine.Request) {
        statistics.count(.requests)
        switch request.step {
        case .discover, .register: break
        case .consume: statistics.count(.polls)
        case .consumeLast: statistics.count(.lastPolls)
        case .list(.base): statistics.count(.listings)
        case .list(.compare): statistics.count(.comparisons)
        case .readChanges: statistics.count(.feedReads)
        }
        check(ledger.wantsToRun && !ledger.isClosed, "a request is made, and nobody wants it")
        check(!ledger.hasStopped, "a request is made after it has given up")
        check(!ledger.isHeld && ledger.readerHolds == 0, "a request is made while it is held")
        if let due = ledger.retryDue { check(now + .milliseconds(1) >= due, "a retry comes before its time") }
        ledger.retryDue = nil
        ledger.requests.removeAll { now - $0 > .seconds(10) }
        ledger.requests.append(now)
        check(ledger.requests.count <= 60, "\(ledger.requests.count) requests in ten seconds")
    }

    private func failed(_ problem: WorkspaceLoop.Problem, retryAfter delay: Duration?) {
        statistics.count(.failures)
        let loop = schedule.options.loop
        var least = Duration.zero
        var stops = false
        switch problem {
        case .unreachable, .timedOut: break
        case .refused, .withoutFeed: least = loop.errorDelay
        case .unauthenticated, .unusable, .silent: stops = true
        }
        check(stops == (delay == nil), "\(problem), and it retries after \(delay ?? .zero)")
        guard let delay else {
            statistics.count(.stops)
            return ledger.hasStopped = true
        }
        let policy = loop.connection.reconnectPolicy
        ledger.failures.connectionEnds(since: ledger.connectedAt, now: now)
        let longest = max(least, policy.longestDelay(attempt: ledger.failures.most))
        check(delay >= least && delay <= longest, "it waits \(delay), not between \(least) and \(longest)")
        check(ledger.failures.failed(thenWaits: delay, policy), "it waits only \(delay)")
        ledger.retryDue = now + delay
    }

    // MARK: Notices

    /// Takes the answer as the known contents if it lists them.
    func known(_ request: WorkspaceMachine.Request, _ files: [String: Int], _ number: Int) {
        switch request.step {
        case .list(.base): begin(with: files, number)
        case .readChanges:
            if request.sequence == nil { return begin(with: files, number) }
        case .discover, .register, .consume, .consumeLast, .list(.compare): break
        }
    }

    private func begin(with files: [String: Int], _ number: Int) {
        guard ledger.mirror == nil else { return }
        ledger.mirror = files
        ledger.baseline = number
    }

    private func told(_ event: PydioEvent) {
        guard let path = event.path else { return }
        statistics.count(.events)
        guard let mirror = ledger.mirror else { return check(false, "\(event.name) is told before anything is known") }
        if event.isLate {
            statistics.count(.lateEvents)
            check(ledger.isAfterGap, "\(event.name) \(path) was found by a listing, and no gap was told")
        } else if let number = number(of: event, path), !readsFeed {
            happened(number, mirror)
        }
        let size = event.size.map { Int($0) }
        switch event.name {
        case PydioEventName.nodeCreated:
            check(mirror[path] == nil, "\(path) is created, and there is one")
            ledger.mirror?[path] = size
        case PydioEventName.nodeUpdated:
            check(mirror[path] != size, "\(path) is updated twice to \(size ?? 0)")
            ledger.mirror?[path] = size
        case PydioEventName.nodeMoved:
            ledger.mirror?[event.originalPath ?? ""] = nil
            ledger.mirror?[path] = size
        case PydioEventName.nodeDeleted:
            check(mirror[path] != nil, "\(path) is deleted, and there is none")
            ledger.mirror?[path] = nil
        default: check(false, "\(event.name) is told")
        }
    }

    /// The number of the change behind an event.
    private func number(of event: PydioEvent, _ path: String) -> Int? {
        if let size = event.size, event.name != PydioEventName.nodeDeleted { return Int(size) }
        let next = server.changes.indices.first { index in
            index >= ledger.lastTold && server.changes[index].kind == .delete && server.changes[index].path == path
        }
        return next.map { $0 + 1 }
    }

    /// Checks that a change reported as it happened follows the earlier ones, without a hole that no gap explains.
    private func happened(_ number: Int, _ mirror: [String: Int]) {
        check(number > ledger.lastTold, "change \(number) comes again, or out of order")
        ledger.lastTold = number
        guard number > ledger.baseline else { return }
        if mirror == server.history[number - 1] {
            ledger.mayJump = false
        } else {
            check(ledger.mayJump, "change \(number) is told, and one before was not, nor a gap")
        }
    }
}
