import Basics
import CurlTransport
import PydioProtocol
import Realtime
import Transport

/// One watched workspace, with its server, its requests and its WebSockets.
@NetworkActor
final class PydioSimulation: Simulation, Shell {
    typealias Kind = PydioKind

    let schedule: PydioSchedule
    let stage: Stage
    var statistics = Statistics<PydioKind>()

    nonisolated let driver: Driver<WorkspaceMachine>
    var request: PydioExchange?
    var socket: PydioSocket?
    var server: PydioServer
    var behaviour = PydioSchedule.Behaviour.normal
    var socketBehaviour = PydioSchedule.SocketBehaviour.normal
    var latency = Duration.milliseconds(5)
    /// The time at which the newest request reaches the server.
    var lastArrival = MonotonicInstant(nanoseconds: 0)
    var socketLatency = Duration.milliseconds(5)
    let reader = EventReader(.sequence, eventName: nil, channelName: nil)
    var ledger = PydioLedger()

    init(_ schedule: PydioSchedule, isRecording: Bool) {
        self.schedule = schedule
        stage = Stage(seed: schedule.seed, isRecording: isRecording)
        server = PydioServer(newMailboxesHaveOldMessages: schedule.options.newMailboxesHaveOldMessages)
        driver = Driver(
            WorkspaceMachine(
                loop: schedule.options.loop, model: .init(workspaceId: "w"), seed: stage.random.next(),
                now: stage.loop.now),
            on: stage.loop)
        watchNetwork()
    }

    var nextDeadline: MonotonicInstant? { peek { $0.nextDeadline } }

    // MARK: Steps

    func perform(_ happening: PydioSchedule.Happening) {
        switch happening {
        case .call(let call): make(call)
        case .change(let count): for _ in 0..<count { change() }
        case .requests(let behaviour): self.behaviour = behaviour
        case .sockets(let behaviour): socketBehaviour = behaviour
        case .cut: if let request { fail(request, .unreachable, after: .zero) }
        case .latency(let latency): self.latency = latency
        case .socketLatency(let latency): socketLatency = latency
        case .cutSocket: if let socket { after(random.seconds(0...0.1)) { [unowned self] in ended(socket) } }
        case .silenceSocket: socket?.isSilent = true
        case .socketGarbage: if let socket { send("<tree", on: socket) }
        case .sessionLost:
            statistics.count(.sessionsLost)
            server.loseSession()
            if let socket { after(random.seconds(0...0.1)) { [unowned self] in ended(socket) } }
        case .mailboxLost:
            statistics.count(.mailboxesLost)
            server.loseSession()
        case .feedReset:
            statistics.count(.feedResets)
            server.resetLog()
            if ledger.lastSequence > 0 { ledger.owesGap = true }
        case .hint(let isLost):
            statistics.count(.hints)
            if !isLost { ledger.retryDue = nil }
            stage.loop.network(isLost ? .lost : .returned)
        case .clockJump(let duration):
            statistics.count(.clockJumps)
            jumpClock(duration)
        }
    }

    func make(_ call: PydioSchedule.Call) {
        guard !ledger.isClosed else { return }
        switch call {
        case .start:
            ledger.asked()
            ledger.wantsToRun = true
            handle { machine, now in machine.start(now: now) }
        case .pause:
            ledger.wantsToRun = false
            handle { machine, now in machine.pause(now: now) }
        case .check: handle { machine, now in machine.check(now: now) }
        case .hold(let isHeld):
            ledger.isHeld = isHeld
            handle { machine, now in machine.hold(isHeld, now: now) }
        case .holdForReader:
            ledger.readerHolds += 1
            handle { machine, now in machine.hold(for: reader, now: now) }
        case .releaseForReader:
            guard ledger.readerHolds > 0 else { return }
            ledger.readerHolds -= 1
            handle { machine, now in machine.release(for: reader, now: now) }
        }
    }

    func change() {
        guard let change = server.change(&random) else { return }
        log("  change \(server.changes.count): \(change.kind) \(change.source ?? "") \(change.path)")
        if let socket, socket.isRegistered { broadcast(change, on: socket) }
    }

    // MARK: The calm

    func heal() {
        log("nothing goes wrong any more")
        behaviour = .normal
        socketBehaviour = .normal
        (latency, socketLatency) = (.milliseconds(5), .milliseconds(5))
        make(.hold(false))
        while ledger.readerHolds > 0 { make(.releaseForReader) }
        after(.seconds(800)) { [unowned self] in
            log("the application asks again")
            let isExpected = ledger.wantsToRun && !ledger.hasStopped
            check((ledger.state == .connected) == isExpected, "it is \(ledger.state)")
            make(.start)
        }
        after(.seconds(1400)) { [unowned self] in for _ in 0..<3 { change() } }
        after(.seconds(1600)) { [unowned self] in compareAtRest() }
    }

    private func compareAtRest() {
        check(peek { $0.isUpToDate }, "at rest it is \(ledger.state), and not up to date")
        check(ledger.mirror == server.files, "\(ledger.mirror ?? [:]) is known, and there are \(server.files)")
        check(!ledger.owesGap, "the log began anew, and no gap was told")
        let takesSockets = schedule.options.services.webSocket != nil && schedule.options.loop.usesWebSocket
        check(!takesSockets || socket?.isRegistered == true, "at rest there is no WebSocket")
        ledger.isClosed = true
        handle { machine, now in machine.close(now: now) }
        closeDriver()
        after(.seconds(200)) { [unowned self] in
            stage.isOver = true
            check(!server.hasMailbox, "a mailbox is left behind")
            check(request == nil, "a request is left behind")
        }
    }
}
