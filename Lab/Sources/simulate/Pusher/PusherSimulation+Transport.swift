import Basics
import CurlTransport
import PusherProtocol
import Realtime
import Transport

/// Carries out orders like `ClientCore` and `WebSocketConnection`.
extension PusherSimulation {
    func carryOut(_ action: ClientMachine.Action) {
        isInspectionDue = true
        inspect(action)
        switch action {
        case .tell(let notices): told += notices
        case .open(let id, let url):
            check(transport == nil, "a second transport is opened while the first lives")
            transport = (id, openLink(url: url))
        case .close(let id): live(id).map(closePolitely)
        case .drop(let id):
            check(transport == nil || transport?.id == id, "another transport is dropped than lives")
            live(id).map(release)
            transport = nil
        case .send(let id, let frame): send(frame, on: id)
        case .pauseReading(let id, let isPaused):
            guard let link = live(id) else { return }
            link.isReadingPaused = isPaused
            if !isPaused { after(.zero) { [unowned self] in read(link) } }
        case .authorize(let request): authorize(request)
        case .authorizeUser(let id, let socketID): authorizeUser(id, socketID)
        case .cancelAuthorization(let id): authorizations.remove(id)
        }
    }

    func carriedOutActions() {
        for notice in told { inspect(notice) }
        if !told.isEmpty { add(told) }
        told = []
        if let link = transport?.link { flush(link) }
    }

    // MARK: Transport

    private func live(_ id: ConnectionMachine.TransportID) -> Link? {
        transport?.id == id ? transport?.link : nil
    }

    private func send(_ frame: ClientFrame, on id: ConnectionMachine.TransportID) {
        guard let link = live(id), link.clientEnd == .open else { return }
        guard link.machine != nil else { return sendUp(.request(PusherServer.Request(frame)), on: link) }
        var generator = JitterGenerator(seed: random.next())
        link.machine?.send(text: Array(frame.text.utf8), using: &generator)
    }

    private func closePolitely(_ link: Link) {
        switch link.clientEnd {
        case .connecting: ended(link, WebSocketClosure(code: 1000))
        case .open:
            link.clientEnd = .closing
            var generator = JitterGenerator(seed: random.next())
            if link.machine?.close(code: 1000, reason: "", using: &generator) == false {
                return ended(link, WebSocketClosure(code: 1000))
            }
            if link.machine == nil { sendUp(.close, on: link) } else { flush(link) }
            after(.seconds(2)) { [unowned self] in closeTimedOut(link) }
            after(.zero) { [unowned self] in read(link) }
        case .closing, .gone: break
        }
    }

    func closeTimedOut(_ link: Link) {
        guard link.clientEnd == .closing else { return }
        ended(link, WebSocketClosure(code: 1006, error: TransportError(.timedOut, "no answer to a close frame")))
    }

    private func release(_ link: Link) {
        link.clientEnd = .gone
        if link.isServerEndOpen, !link.isBlackHole {
            after(latency + .milliseconds(1)) { [unowned self] in serverNotices(link) }
        }
    }

    func opened(_ link: Link) {
        guard let id = transport?.id, transport?.link === link else { return }
        let times = ConnectionTimes(address: "", nameLookup: .zero, connect: .zero, tls: nil)
        handle { machine, _ in machine.transportReached(id, times) }
        handle { machine, now in machine.transportOpened(id, now: now) }
    }

    /// The transport has ended by itself.
    func ended(_ link: Link, _ closure: WebSocketClosure) {
        guard link.clientEnd != .gone else { return }
        release(link)
        guard let id = transport?.id, transport?.link === link else { return }
        transport = nil
        log("transport \(id.number) ended with \(closure.code)")
        statistics.closed(closure)
        let before = machine.connectionState
        handle { machine, now in
            machine.transportClosed(id, closure, now: now)
            checkForbidden(code: Int(closure.code), from: before, to: machine)
        }
    }

    // MARK: Reading

    func read(_ link: Link) {
        while link.isReading {
            let contents = link.read(atMost: 1 + random.below(6), now: now)
            if contents.isEmpty { return }
            if link.machine == nil { receive(messages: contents, on: link) } else { receive(bytes: contents, on: link) }
        }
    }

    private func receive(messages contents: [Link.Downstream], on link: Link) {
        var messages: [WebSocketMessage] = []
        var closure: WebSocketClosure?
        for content in contents where closure == nil {
            switch content {
            case .message(let message): messages.append(message)
            case .close(let code): closure = WebSocketClosure(code: code)
            case .broken: closure = Self.lost
            case .bytes: break
            }
        }
        if !messages.isEmpty, link.clientEnd == .open { deliver(WebSocketMessages(messages), of: link) }
        if let closure { ended(link, closure) }
    }

    private func receive(bytes contents: [Link.Downstream], on link: Link) {
        var chunk: [UInt8] = []
        var isBroken = false
        for content in contents {
            switch content {
            case .bytes(let bytes): chunk += bytes
            case .broken: isBroken = true
            case .message, .close: break
            }
        }
        var generator = JitterGenerator(seed: random.next())
        if !chunk.isEmpty, let received = link.machine?.receive(chunk, using: &generator) {
            flush(link)
            if received.isOpened { opened(link) }
            if link.clientEnd != .gone { deliver(received.messages, of: link) }
            if link.clientEnd != .gone, let end = received.end { ended(link, end) }
        }
        if isBroken, let closure = link.machine?.ended(nil) { ended(link, closure) }
    }

    private func deliver(_ messages: WebSocketMessages, of link: Link) {
        guard let id = transport?.id, transport?.link === link else { return }
        if link.clientEnd == .open { expect(messages, from: id) }
        handleSoon { machine, now in machine.received(messages, from: id, now: now) }
    }

    private static let lost = WebSocketClosure(
        code: 1006, error: TransportError(.connectionLost, "the connection broke"))
}
