import CurlTransport
import PydioProtocol
import Realtime
import Basics
import Transport

/// One WebSocket, at both ends.
@NetworkActor
final class PydioSocket {
    let id: ConnectionMachine.TransportID
    var isRegistered = false
    /// Nothing comes through any more, and nobody is told.
    var isSilent = false
    var isPaused = false
    var lastArrival: MonotonicInstant
    /// What has arrived while it was paused.
    var waiting: [WebSocketMessage?] = []

    init(_ id: ConnectionMachine.TransportID, now: MonotonicInstant) {
        self.id = id
        lastArrival = now
    }
}

extension PydioSimulation {
    func openSocket(_ id: ConnectionMachine.TransportID) {
        check(socket == nil, "a second WebSocket is opened while the first lives")
        let new = PydioSocket(id, now: now)
        socket = new
        switch socketBehaviour {
        case .normal:
            // It is registered, and a ping is sent behind that.
            after(socketLatency + random.seconds(0.001...0.02)) { [unowned self] in
                guard socket === new, !new.isSilent else { return }
                new.isRegistered = true
                arrive(nil, on: new)
            }
        case .refusing, .closing: after(random.seconds(0.001...0.1)) { [unowned self] in ended(new) }
        case .silent: new.isSilent = true
        }
    }

    func pong(_ socket: PydioSocket) {
        after(socketLatency) { [unowned self] in arrive(nil, on: socket) }
    }

    func broadcast(_ change: PydioServer.Change, on socket: PydioSocket) {
        let document = "<tree>\(change.xml)</tree>"
        guard schedule.options.splitsFrames else { return send(document, on: socket) }
        for part in document.split(separator: "\n") { send(String(part), on: socket) }
    }

    func send(_ text: String, on socket: PydioSocket) {
        arrive(.text(Array(text.utf8)[...]), on: socket)
    }

    /// - Parameter message: Nil is a pong.
    private func arrive(_ message: WebSocketMessage?, on arriving: PydioSocket) {
        guard !arriving.isSilent else { return }
        arriving.lastArrival = max(arriving.lastArrival, now + socketLatency + random.seconds(0...0.01))
        stage.loop.add(at: arriving.lastArrival) { [unowned self] in
            guard socket === arriving, !arriving.isSilent else { return }
            arriving.waiting.append(message)
            readWaiting(on: arriving)
        }
    }

    private func received(_ message: WebSocketMessage?, on socket: PydioSocket) {
        guard let message else { return handle { machine, now in machine.socketAnswered(socket.id, now: now) } }
        statistics.count(.socketMessages)
        handle { machine, now in machine.socketReceived(WebSocketMessages([message]), from: socket.id, now: now) }
    }

    func pause(_ pausing: PydioSocket, _ isPaused: Bool) {
        pausing.isPaused = isPaused
        guard !isPaused else { return }
        after(.zero) { [unowned self] in readWaiting(on: pausing) }
    }

    /// In the order in which it came.
    private func readWaiting(on reading: PydioSocket) {
        while socket === reading, !reading.isPaused, !reading.waiting.isEmpty {
            received(reading.waiting.removeFirst(), on: reading)
        }
    }

    func ended(_ ending: PydioSocket) {
        guard socket === ending else { return }
        socket = nil
        handle { machine, now in machine.socketEnded(ending.id, now: now) }
    }
}
