import Basics
import CurlTransport
import PusherProtocol
import Realtime
import Transport

/// The steps of the schedule, and the long calm after them.
extension PusherSimulation {
    func perform(_ happening: PusherSchedule.Happening) {
        switch happening {
        case .call(let call): make(call)
        case .callFromCallback(let call): application.callsFromCallbacks.append(call)
        case .publish(let channel, let count):
            for _ in 0..<count { server.publish(PusherSchedule.channels[channel], nonce: random.bytes(24)) }
        case .rotateKey(let channel):
            statistics.count(.keyRotations)
            server.rotateKey(of: PusherSchedule.channels[channel])
        case .peer(let channel, let user, let joins):
            server.peer("u\(user)", on: PusherSchedule.channels[channel], joins: joins)
        case .close(let code, let isAnnounced):
            guard let link = liveLink else { return }
            if isAnnounced {
                sendDown(text: #"{"event":"pusher:error","data":{"code":\#(code),"message":"m"}}"#, on: link)
            }
            close(link, code: code)
        case .serverError(let code):
            guard let link = liveLink, server.connections[link.number] != nil else { return }
            let code = code.map { "\($0)" } ?? "null"
            sendDown(text: #"{"event":"pusher:error","data":{"code":\#(code),"message":"m"}}"#, on: link)
        case .serverPing:
            guard let link = liveLink, server.connections[link.number] != nil else { return }
            sendDown(text: #"{"event":"pusher:ping","data":{}}"#, on: link)
        case .garbage(let garbage):
            guard let link = liveLink, server.connections[link.number] != nil else { return }
            send(garbage, on: link)
        case .cut:
            liveLink.map {
                statistics.count(.cuts); cut($0)
            }
        case .blackHole:
            liveLink.map {
                statistics.count(.blackHoles); makeBlackHole($0)
            }
        case .restart(let down): restartServer(down: down)
        case .connecting(let connecting): self.connecting = connecting
        case .latency(let latency): self.latency = latency
        case .authorization(let behaviour): authBehaviour = behaviour
        case .hint(let isLost):
            statistics.count(.hints)
            if !isLost { ledger.hinted() }
            stage.loop.network(isLost ? .lost : .returned)
        case .clockJump(let duration):
            statistics.count(.clockJumps)
            jumpClock(duration)
        case .callbacks(let duration): callbacksChanged(to: duration)
        }
    }

    private func send(_ garbage: PusherSchedule.Garbage, on link: Link) {
        switch garbage {
        case .notJSON: sendDown(text: "{", on: link)
        case .binary:
            if link.machine == nil {
                sendDown(.message(.binary([1, 2, 3])), on: link)
            } else {
                sendDown(bytes: WebSocketPeer.frame(2, [1, 2, 3]), on: link)
            }
        case .unknownChannel: sendDown(text: #"{"event":"e1","channel":"nobody","data":"d1"}"#, on: link)
        case .unknownInternal: sendDown(text: #"{"event":"pusher_internal:new","data":"{}"}"#, on: link)
        case .staleSuccess:
            sendDown(
                text: #"{"event":"pusher_internal:subscription_succeeded","channel":"nobody","data":"{}"}"#, on: link)
        }
    }

    private func restartServer(down: Duration) {
        statistics.count(.restarts)
        serverIsDownUntil = now + down
        for link in links where link.isServerEndOpen {
            if random.chance(50), !link.isBlackHole { close(link, code: 1001) } else { sendDown(.broken, on: link) }
            link.isServerEndOpen = false
        }
        server.forgetAllConnections()
    }

    // MARK: The calm

    /// Ends all faults; those that have already happened keep their effects.
    func heal() {
        log("nothing goes wrong any more")
        connecting = .normal
        latency = .milliseconds(5)
        authBehaviour = .normal
        application.callsFromCallbacks = []
        callbacksChanged(to: .zero)
        while application.holds > 0, !application.isShutDown { make(.releaseReading) }
        after(.seconds(420)) { [unowned self] in insist() }
    }

    /// Runs after the longest possible time-out and retry wait. The application then retries everything that failed.
    func insist() {
        compareConnection()
        guard !application.isShutDown else { return after(.seconds(100)) { [unowned self] in stage.isOver = true } }
        log("the application asks again for what has failed")
        if application.wantsConnection, machine.connectionState == .disconnected { make(.connect) }
        for (channel, id) in application.wanted.sorted(by: { $0.key < $1.key }) where machine.failure(of: id) != nil {
            check(ledger.failedSubscriptions.contains(id), "a failed subscription is not reported")
            make(.subscribe(channel))
        }
        if application.signInHasFailed { make(.signIn) }
        after(.seconds(60)) { [unowned self] in publishLast() }
    }

    func publishLast() {
        log("the last events")
        for channel in application.wanted.keys.sorted() {
            for _ in 0..<2 { server.publish(PusherSchedule.channels[channel], nonce: random.bytes(24)) }
        }
        after(.seconds(60)) { [unowned self] in compareAtRest() }
    }

    func compareAtRest() {
        compareConnection()
        compareSubscriptions()
        shutDown()
        after(.seconds(200)) { [unowned self] in stage.isOver = true }
    }
}
