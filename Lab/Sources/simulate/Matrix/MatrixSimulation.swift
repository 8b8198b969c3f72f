import Basics
import CurlTransport
import MatrixProtocol
import Transport

/// One account: its session, which is restarted now and then, its disk and its homeserver.
@NetworkActor
final class MatrixSimulation: Simulation {
    typealias Kind = MatrixKind

    let schedule: MatrixSchedule
    let stage: Stage
    var statistics = Statistics<MatrixKind>()

    private(set) var client: MatrixClient?
    let disk = MatrixDisk()
    var request: MatrixRequest?
    var server = MatrixServer()
    var behaviour = MatrixServer.Behaviour.normal
    var latency = Duration.milliseconds(5)
    var applying = Duration.zero
    var ledger = MatrixLedger()

    init(_ schedule: MatrixSchedule, isRecording: Bool) {
        self.schedule = schedule
        stage = Stage(seed: schedule.seed, isRecording: isRecording)
        begin()
    }

    private func begin() {
        client = MatrixClient(
            schedule.options.configuration, disk: disk, seed: random.next(), simulation: self, on: stage.loop)
    }

    var nextDeadline: MonotonicInstant? { client?.peek { $0.nextDeadline } }

    // MARK: Steps

    func perform(_ happening: MatrixSchedule.Happening) {
        switch happening {
        case .call(let call): make(call)
        case .publish(let room, let count): for _ in 0..<count { publish(in: room) }
        case .homeserver(let behaviour): self.behaviour = behaviour
        case .cut: if let request, request.phase != .applying { fail(request, .unreachable, after: .zero) }
        case .latency(let latency): self.latency = latency
        case .applying(let duration): applying = duration
        case .store(let fails): disk.setFails(fails)
        case .streamReset:
            statistics.count(.streamResets)
            server.reset()
            if let request, request.phase == .waiting { answer(request) }
        case .restart: restart()
        case .hint(let isLost):
            statistics.count(.hints)
            if !isLost { ledger.retryDue = nil }
            stage.loop.network(isLost ? .lost : .returned)
        case .clockJump(let duration):
            statistics.count(.clockJumps)
            jumpClock(duration)
        }
    }

    func make(_ call: MatrixSchedule.Call) {
        guard let client, !ledger.isClosed else { return }
        switch call {
        case .start:
            ledger.asked()
            ledger.wantsToRun = true
            client.handle { loop, now in loop.start(now: now) }
        case .pause:
            statistics.count(.pauses)
            ledger.wantsToRun = false
            client.handle { loop, now in loop.pause(now: now) }
        case .reconnect:
            ledger.asked()
            ledger.wantsToRun = true
            client.handle { loop, now in loop.reconnect(now: now) }
        case .hold(let isHeld):
            statistics.count(.holds)
            ledger.isHeld = isHeld
            client.handle { loop, now in loop.hold(isHeld, now: now) }
        case .backgroundSync:
            if client.peek({ $0.state }) == .paused { client.handle { loop, _ in loop.borrow() } }
        }
    }

    private func publish(in room: Int) {
        server.publish(in: room)
        if let request, request.phase == .waiting { answer(request) }
    }

    private func restart() {
        statistics.count(.restarts)
        request = nil
        (ledger.state, ledger.hasApplied, ledger.runsSince) = (.storeDataReady, false, nil)
        // A new process has to learn again that a homeserver is impatient.
        ledger.requests = []
        ledger.asked()
        begin()
        make(.hold(ledger.isHeld))
        if ledger.wantsToRun { make(.start) }
    }

    // MARK: The calm

    func heal() {
        log("nothing goes wrong any more")
        behaviour = .normal
        latency = .milliseconds(5)
        applying = .zero
        disk.setFails(false)
        make(.hold(false))
        after(.seconds(400)) { [unowned self] in
            log("the application asks again")
            let isExpected = ledger.wantsToRun && !ledger.hasStopped
            check(
                isExpected == (ledger.state == .running),
                "it is \(ledger.state), and should \(isExpected ? "" : "not ")run")
            make(.start)
        }
        after(.seconds(460)) { [unowned self] in for room in 0..<MatrixSchedule.rooms { publish(in: room) } }
        after(.seconds(520)) { [unowned self] in compareAtRest() }
    }

    private func compareAtRest() {
        check(ledger.state == .running, "at rest it is \(ledger.state)")
        for (room, count) in server.counts.enumerated() {
            let told = ledger.rooms[room].lastNumber
            check(told == count, "room \(room): event \(told ?? 0) was told last, and there are \(count)")
        }
        check(request?.phase == .waiting, "at rest no request waits for news")
        ledger.isClosed = true
        client?.handle { loop, now in loop.close(now: now) }
        client?.closeDriver()
        after(.seconds(200)) { [unowned self] in stage.isOver = true }
    }
}
