import Basics
import CurlTransport
import MatrixProtocol

/// Carries out orders like `SyncDriver` and `SessionCore`.
extension MatrixSimulation {
    func carryOut(_ action: SyncLoop.Action) {
        inspect(action)
        switch action {
        case .poll(let poll): begin(poll)
        case .cancelPoll: if let request, request.poll != nil { cancel(request) }
        case .lend: begin(nil)
        case .changed, .synced, .failed, .held, .resumed: break
        }
    }

    private func begin(_ poll: SyncLoop.Poll?) {
        check(request == nil, "a request is made while another is under way")
        let new = MatrixRequest(poll, since: client?.model.syncToken)
        check(new.since == disk.token || new.since == nil, "it asks from another point than it has stored")
        request = new
        after(latency + random.seconds(0.001...0.02)) { [unowned self] in arrived(new) }
        after(.seconds(90)) { [unowned self] in if new.phase != .applying { end(new, .timedOut) } }
    }

    private func cancel(_ request: MatrixRequest) {
        request.isCancelled = true
        guard request.phase != .applying else { return statistics.count(.cancelledWhileApplying) }
        fail(request, .unreachable, after: schedule.options.cancelsAtOnce ? .zero : random.seconds(0...5))
    }

    func fail(_ request: MatrixRequest, _ problem: SyncLoop.Problem, after wait: Duration) {
        after(wait + .microseconds(random.below(500))) { [unowned self] in
            if request.phase != .applying { end(request, problem) }
        }
    }

    // MARK: At the homeserver

    private func arrived(_ arriving: MatrixRequest) {
        guard request === arriving, arriving.phase == .sent else { return }
        progressed(arriving, to: .underWay)
        let wait = latency
        switch behaviour {
        case .normal:
            guard let timeout = arriving.poll?.serverTimeout, timeout > .zero, !server.hasNews(since: arriving.since)
            else { return answer(arriving) }
            arriving.phase = .waiting
            after(timeout) { [unowned self] in if arriving.phase == .waiting { answer(arriving) } }
        case .impatient: answer(arriving)
        case .unreachable: fail(arriving, .unreachable, after: .zero)
        case .silent: break
        case .failing: fail(arriving, .refused(retryAfter: nil), after: wait)
        case .limiting(let delay): fail(arriving, .refused(retryAfter: delay), after: wait)
        case .unauthenticated: fail(arriving, .unauthenticated, after: wait)
        case .garbage: fail(arriving, .unreachable, after: wait)
        }
    }

    func answer(_ asking: MatrixRequest) {
        guard request === asking else { return }
        asking.phase = .answered
        let answer = server.answer(since: asking.since)
        after(latency + random.seconds(0.001...0.02)) { [unowned self] in received(answer, asking) }
    }

    // MARK: The answer

    private func received(_ answer: MatrixServer.Answer, _ asking: MatrixRequest) {
        guard request === asking, !asking.isCancelled else { return }
        switch answer {
        case .unknownToken:
            client?.model.forgetSyncToken()
            end(asking, .refused(retryAfter: nil))
        case .sync(let bytes):
            asking.phase = .applying
            progressed(asking, to: .received)
            after(applying) { [unowned self] in apply(bytes, of: asking) }
        }
    }

    private func progressed(_ request: MatrixRequest, to stage: SyncLoop.Stage) {
        guard let poll = request.poll else { return }
        client?.handle { loop, now in loop.progressed(poll.number, to: stage, now: now) }
    }

    private func apply(_ bytes: [UInt8], of asking: MatrixRequest) {
        guard request === asking, let client else { return }
        do {
            let response = try SyncResponse(bytes)
            var model = client.model
            let applied = try model.apply(response, store: disk, now: .now)
            try disk.commit(applied.changes)
            client.model = model
            told(applied, response)
            end(asking, nil)
        } catch {
            check((error as? MatrixError)?.code == .store, "an answer cannot be read")
            end(asking, .notStored)
        }
    }

    private func end(_ ending: MatrixRequest, _ problem: SyncLoop.Problem?) {
        guard request === ending else { return }
        request = nil
        log("  request \(ending.poll.map { "\($0.number)" } ?? "beside") ends: \(problem.map { "\($0)" } ?? "applied")")
        client?.handle { loop, now in
            switch (ending.poll, problem) {
            case (nil, _): loop.returned()
            case (let poll?, nil): loop.answered(poll.number, now: now)
            case (let poll?, let problem?): loop.failed(poll.number, problem, now: now)
            }
        }
    }
}
