import Basics
import CurlTransport
import PydioProtocol
import Realtime
import Transport

/// Both ends of one WebSocket.
@NetworkActor
final class PydioSocket {
    let id: ConnectionMachine.TransportID
    var isRegistered = false
    /// Whether all data is silently lost.
    var isSilent = false
    var isPaused = false
    var lastArrival: MonotonicInstant
    /// Data that has arrived during a pause.
    var waiting: [Arrival] = []
    var pingCount = 0

    enum Arrival {
        case message(WebSocketMessage)
        /// The answer to the ping with this number.
        case pong(Int)
    }

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
            // It is registered, and a ping follows.
            after(socketLatency + random.seconds(0.001...0.02)) { [unowned self] in
                guard socket === new, !new.isSilent else { return }
                new.isRegistered = true
                ping(new)
            }
        case .refusing, .closing: after(random.seconds(0.001...0.1)) { [unowned self] in ended(new) }
        case .silent: new.isSilent = true
        }
    }

    /// Sends a ping once the connection is open, like `WebSocketMachine`.
    func ping(_ socket: PydioSocket) {
        guard socket.isRegistered else { return }
        socket.pingCount += 1
        let number = socket.pingCount
        after(socketLatency) { [unowned self] in arrive(.pong(number), on: socket) }
    }

    func broadcast(_ change: PydioServer.Change, on socket: PydioSocket) {
        let document = "<tree>\(change.xml)</tree>"
        guard schedule.options.splitsFrames else { return send(document, on: socket) }
        for part in document.split(separator: "\n") { send(String(part), on: socket) }
    }

    func send(_ text: String, on socket: PydioSocket) {
        arrive(.message(.text(Array(text.utf8)[...])), on: socket)
    }

    private func arrive(_ arrival: PydioSocket.Arrival, on arriving: PydioSocket) {
        guard !arriving.isSilent else { return }
        arriving.lastArrival = max(arriving.lastArrival, now + socketLatency + random.seconds(0...0.01))
        stage.loop.add(at: arriving.lastArrival) { [unowned self] in
            guard socket === arriving, !arriving.isSilent else { return }
            arriving.waiting.append(arrival)
            readWaiting(on: arriving)
        }
    }

    private func received(_ arrival: PydioSocket.Arrival, on socket: PydioSocket) {
        switch arrival {
        case .message(let message):
            statistics.count(.socketMessages)
            handle { machine, now in machine.socketReceived(WebSocketMessages([message]), from: socket.id, now: now) }
        case .pong(let number):
            // An answer to an older ping is not reported, but shows that the peer is alive.
            let isNewest = number == socket.pingCount
            handle { machine, now in
                if isNewest {
                    machine.socketAnswered(socket.id, now: now)
                } else {
                    machine.socketHeard(socket.id, now: now)
                }
            }
        }
    }

    func pause(_ pausing: PydioSocket, _ isPaused: Bool) {
        pausing.isPaused = isPaused
        guard !isPaused else { return }
        after(.zero) { [unowned self] in readWaiting(on: pausing) }
    }

    /// Reads in the order of arrival.
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
