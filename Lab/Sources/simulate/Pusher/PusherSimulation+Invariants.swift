import Basics
import CurlTransport
import PusherProtocol
import Realtime
import Transport

/// The invariants after every step.
extension PusherSimulation {
    private var options: ClientMachine.Configuration { schedule.options.configuration }

    func checkAlways() {
        sendServerFrames()
        if let complaint = server.complaints.first { check(false, "the server complains: \(complaint)") }
        check(links.count { $0.clientEnd != .gone } <= 1, "two transports live")
        if !stage.loop.hasWaitingJobs { checkAtRest() }
        guard application.isShutDown else { return }
        check(nextDeadline == nil, "a deadline is left after the client is gone")
    }

    /// Checks the state when no work is left.
    private func checkAtRest() {
        if application.isShutDown { ledger.isEndCarriedOut = true }
        guard isInspectionDue else { return }
        isInspectionDue = false
        switch machine.connectionState {
        case .connecting, .connected, .disconnecting:
            check(transport != nil, "\(machine.connectionState) without a transport")
        case .disconnected, .reconnecting:
            check(transport == nil, "\(machine.connectionState) with a transport")
        }
        switch machine.connectionState {
        case .connecting, .connected:
            ledger.isEndAsked = false
            check(
                ledger.lastURL.hasPrefix(machine.endpoint.usesTLS ? "wss:" : "ws:"),
                "TLS is used, or not, against the will")
        case .disconnecting, .disconnected, .reconnecting: break
        }
    }

    // MARK: Orders

    func inspect(_ action: ClientMachine.Action) {
        switch action {
        case .tell: return
        case .open(_, let url):
            statistics.count(.opens)
            check(!ledger.isEndCarriedOut, "a transport is opened after the client is gone")
            check(!ledger.hasStopped, "a transport is opened though the last end forbids it")
            // The machine counts from its decision, which is reported a moment later.
            if let due = ledger.retryDue { check(now + .milliseconds(1) >= due, "a retry comes before its time") }
            ledger.lastURL = url
            ledger.clientEventTimes = []
        case .send(_, let frame): inspect(frame)
        case .authorize(let request):
            ledger.attempts[request.channel.string, default: 0] += 1
        case .close, .drop, .pauseReading, .authorizeUser, .cancelAuthorization: break
        }
        log("client: \(action)")
    }

    private func inspect(_ frame: ClientFrame) {
        switch frame {
        case .clientEvent(_, let channel, let data):
            statistics.count(.clientEventsSent)
            let number = Int(data) ?? 0
            check(number > ledger.clientEvents[channel.string] ?? 0, "client events of \(channel) change their order")
            ledger.clientEvents[channel.string] = number
            guard let limit = options.clientEventRateLimit else { return }
            // The machine counts from its decision, which is carried out a moment later: after a clock jump in between,
            // it may be long ago.
            if let lastClockJump = stage.lastClockJump, now - lastClockJump < .milliseconds(1) { return }
            ledger.clientEventTimes.removeAll { now - $0 >= .milliseconds(999) }
            ledger.clientEventTimes.append(now)
            check(ledger.clientEventTimes.count <= limit, "more client events than clientEventRateLimit")
        case .subscribe(let channel, _, _):
            if !channel.needsAuthorization { ledger.attempts[channel.string, default: 0] += 1 }
        case .ping, .pong, .unsubscribe, .signIn: break
        }
    }

    // MARK: Notices

    func inspect(_ notice: ClientMachine.Notice) {
        log("told: \(notice)")
        check(!ledger.isEndCarriedOut, "something is told after the client is gone: \(notice)")
        switch notice {
        case .stateChanged(let old, let new): stateChanged(from: old, to: new)
        case .error(let error): inspect(error)
        case .subscriptionFailed(let id, let error, _, _):
            statistics.count(.subscriptionsFailed)
            ledger.failedSubscriptions.insert(id)
            ledger.failed(error.channelName ?? "")
            check(ledger.areFailuresPlausible, "a failed subscription of \(error.channelName ?? "") is reported twice")
        case .decryptionFailed: ledger.undecryptable += 1
        case .subscribed: statistics.count(.subscribed)
        case .gap: statistics.count(.gaps)
        case .signedIn: statistics.count(.signedIn)
        case .signInFailed: statistics.count(.signInsFailed)
        case .memberAdded, .memberRemoved: statistics.count(.memberChanges)
        case .readingHeld: ledger.reportedHolds += 1
        case .readingResumed:
            ledger.reportedHolds -= 1
            check(ledger.reportedHolds >= 0, "the end of a hold is reported, and the hold was not")
        case .events, .subscriptionCount, .watchlistChanged, .pingAnswered, .sourceStateChanged: break
        }
    }

    private func stateChanged(from old: ConnectionState, to new: ConnectionState) {
        check(old == ledger.state, "\(old) → \(new) follows \(ledger.state)")
        check(Ledger.isLegal(old, new), "\(old) → \(new) is no legal transition")
        let errors = ledger.connectionErrors
        switch new {
        case .reconnecting:
            statistics.count(old == .connected ? .reconnects : .attemptsFailed)
            check(errors == 1 || errors == 0 && ledger.announcements > 0, "a loss is reported \(errors) times")
            if errors == 0 {
                ledger.retryDue = nil
                ledger.failures.connectionEnds(since: ledger.connectedAt, now: now)
                ledger.failures.failed()
            }
        case .disconnected where (old == .connecting || old == .connected) && !ledger.isEndAsked:
            check(errors == 1 || errors == 0 && ledger.announcements > 0, "an end is reported \(errors) times")
            statistics.count(.stops)
            ledger.hasStopped = true
        case .disconnected where errors > 0:
            check(errors == 1 && ledger.isEndAsked, "\(old) → \(new) with \(errors) errors")
            ledger.hasStopped = true
        case .connecting, .connected, .disconnecting, .disconnected:
            check(errors == 0 || ledger.isEndAsked, "\(old) → \(new) with \(errors) errors")
        }
        if new == .connected {
            statistics.count(.connected)
            ledger.connectedAt = now
        } else {
            ledger.connectedAt = nil
        }
        ledger.state = new
        ledger.connectionErrors = 0
        ledger.announcements = 0
    }

    private func inspect(_ error: PusherError) {
        switch error.kind {
        case .couldNotConnect, .connectionLost, .closedByServer: connectionFailed(error)
        case .serverError:
            ledger.untoldErrors -= 1
            ledger.announcedCode = nil
            guard let code = error.code, code >= 4000 else { return }
            ledger.announcements += 1
            ledger.announcedCode = code
        case .decryptionFailed:
            statistics.count(.decryptionsFailed)
            ledger.undecryptableErrors += 1
        case .malformedMessage: ledger.malformedErrors += 1
        case .unknownChannel:
            check(error.channelName == "nobody", "an event of \(error.channelName ?? "-") is taken for an unknown one")
        case .authorizationFailed, .subscriptionFailed, .clientEventRejected, .invalidArgument, .undecodableData,
            .bufferOverflow, .readingHeld, .readingResumed, .sourceFailed:
            break
        }
    }

    private func connectionFailed(_ error: PusherError) {
        ledger.connectionErrors += 1
        let code = error.code ?? 0
        let isTold = ledger.isLastFrameAnError && ledger.untoldErrors <= 0 && ledger.announcedCode == code
        check(!isTold, "an end with \(code) is reported twice")
        ledger.untoldErrors = 0
        if error.message.contains("did not answer a ping") { statistics.count(.pongTimeouts) }
        if error.message.contains("connect time-out") { statistics.count(.connectTimeouts) }
        guard error.willRetry, let delay = error.retryAfter else {
            let connection = options.connection
            check(
                !connection.autoReconnect || connection.reconnectAttemptsMax.map { $0 <= ledger.failures.most } == true
                    || Ledger.forbidsRetry(code, usesTLS: machine.endpoint.usesTLS),
                "it gives up without a reason: \(error)")
            return
        }
        check(options.connection.autoReconnect, "it retries though autoReconnect is off")
        check(!Ledger.forbidsRetry(code, usesTLS: true) || code == 4000, "it retries after \(code)")
        let policy = options.connection.reconnectPolicy
        ledger.failures.connectionEnds(since: ledger.connectedAt, now: now)
        let longest = max(
            policy.longestDelay(attempt: ledger.failures.most), (4100...4199).contains(code) ? .seconds(1) : .zero)
        check(delay <= longest && delay <= .seconds(120), "it waits \(delay), more than \(longest)")
        check(!(4100...4199).contains(code) || delay >= .seconds(1), "it waits only \(delay) after \(code)")
        check(ledger.failures.failed(thenWaits: delay, policy), "it waits only \(delay)")
        if let limit = options.connection.reconnectAttemptsMax, !ledger.isEndAsked {
            check(machine.reconnectAttempts <= limit, "it tries more often than reconnectAttemptsMax")
        }
        ledger.retryDue = now + delay
    }

    /// - Parameter old: The state in which `code` arrived.
    func checkForbidden(code: Int, from old: ConnectionState, to machine: ClientMachine) {
        // A client that has just asked to move has already left that transport.
        guard old == .connecting || old == .connected, !ledger.isEndAsked, code != 4000,
            Ledger.forbidsRetry(code, usesTLS: machine.endpoint.usesTLS)
        else { return }
        check(machine.connectionState == .disconnected, "it does not stop after \(code)")
    }

    /// Counts messages that must be reported as malformed. The client may have just left the transport: messages that
    /// arrive before it is dropped are ignored.
    func expect(_ messages: WebSocketMessages, from id: ConnectionMachine.TransportID) {
        guard machine.isReceiving(from: id) else { return }
        var isEstablished = machine.socketID != nil
        for message in messages {
            ledger.isLastFrameAnError = false
            switch message {
            case .text(let text) where text.count > 1:
                ledger.isLastFrameAnError = isEstablished && text.starts(with: #"{"event":"pusher:error""#.utf8)
                if ledger.isLastFrameAnError { ledger.untoldErrors += 1 }
                if text.starts(with: #"{"event":"pusher:connection_established""#.utf8) { isEstablished = true }
            case .text, .binary, .oversized: if isEstablished { ledger.malformedMessages += 1 }
            }
        }
    }
}
