import Basics
import CurlTransport
import PydioProtocol

/// One request, from the client's view.
@NetworkActor
final class PydioExchange {
    enum End {
        case answered(WorkspaceMachine.Answer)
        case failed(WorkspaceLoop.Problem)
    }

    let request: WorkspaceMachine.Request

    init(_ request: WorkspaceMachine.Request) {
        self.request = request
    }
}

/// Carries out orders like `WorkspaceDriver`.
extension PydioSimulation {
    func carryOut(_ action: WorkspaceMachine.Action) {
        inspect(action)
        switch action {
        case .perform(let request): begin(request)
        case .cancelStep:
            if let request { fail(request, .unreachable, after: schedule.options.cancelsAtOnce ? .zero : .seconds(3)) }
        case .unregister: reachServer { [unowned self] in server.unregister() }
        case .openSocket(let id, _): openSocket(id)
        case .pingSocket(let id): if let socket, socket.id == id { ping(socket) }
        case .dropSocket(let id): if socket?.id == id { socket = nil }
        case .pauseSocket(let isPaused): if let socket { pause(socket, isPaused) }
        case .tell, .gap, .sequence, .changed, .failed, .socketFailed, .held, .resumed: break
        }
    }

    private func begin(_ ordered: WorkspaceMachine.Request) {
        check(request == nil, "a request is made while another is under way")
        let new = PydioExchange(ordered)
        request = new
        // A request in transit arrives even if it was cancelled.
        reachServer { [unowned self] in arrived(new) }
        after(.seconds(60)) { [unowned self] in end(new, .failed(.timedOut)) }
    }

    /// Requests arrive in the order in which they were made. If a cancelled one arrived after later ones and emptied
    /// the mailbox, the client could not notice: the protocol has no numbers.
    private func reachServer(_ body: @escaping @NetworkActor () -> Void) {
        lastArrival = max(lastArrival, now + latency + random.seconds(0.001...0.02))
        stage.loop.add(at: lastArrival, body)
    }

    func fail(_ exchange: PydioExchange, _ problem: WorkspaceLoop.Problem, after wait: Duration) {
        after(wait + .microseconds(random.below(500))) { [unowned self] in end(exchange, .failed(problem)) }
    }

    private func arrived(_ exchange: PydioExchange) {
        let back = latency + random.seconds(0.001...0.02)
        switch behaviour {
        case .normal: break
        case .unreachable: return fail(exchange, .unreachable, after: .zero)
        case .silent: return
        case .failing: return fail(exchange, .refused, after: back)
        case .losingAnswers:
            _ = server.answer(exchange.request, services: schedule.options.services, now: now)
            return fail(exchange, .unreachable, after: back)
        case .unauthenticated: return fail(exchange, .unauthenticated, after: back)
        case .withoutFeed:
            if case .readChanges = exchange.request.step { return fail(exchange, .withoutFeed, after: back) }
        }
        let answer = server.answer(exchange.request, services: schedule.options.services, now: now)
        let (files, number) = (server.files, server.changes.count)
        after(back) { [unowned self] in
            guard request === exchange else { return }
            if peek({ $0.isUnderWay(exchange.request.number) }) { known(exchange.request, files, number) }
            end(exchange, .answered(answer))
        }
    }

    private func end(_ exchange: PydioExchange, _ outcome: PydioExchange.End) {
        guard request === exchange else { return }
        request = nil
        let number = exchange.request.number
        switch outcome {
        case .answered(let answer):
            log("  request \(number) is answered")
            handle { machine, now in machine.answered(number, answer, now: now) }
        case .failed(let problem):
            log("  request \(number) fails: \(problem)")
            handle { machine, now in machine.failed(number, problem, now: now) }
        }
    }
}
