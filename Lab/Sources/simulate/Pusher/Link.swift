import Basics
import CurlTransport
import Transport

/// One network connection between client and server, with the data in transit in both directions.
@NetworkActor
final class Link {
    enum Downstream {
        case message(WebSocketMessage)
        case bytes([UInt8])
        case close(code: UInt16)
        /// The end of the connection, without a close frame.
        case broken
    }

    enum Upstream {
        case request(PusherServer.Request)
        case bytes([UInt8])
        case close
    }

    enum ClientEnd {
        case connecting, open, closing, gone
    }

    let number: Int
    let reception: PusherSchedule.Connecting
    /// Set in schedules that use bytes.
    var machine: WebSocketMachine?
    var peer = WebSocketPeer()
    var down: [(arrival: MonotonicInstant, content: Downstream)] = []
    var up: [(arrival: MonotonicInstant, content: Upstream)] = []
    var lastDown: MonotonicInstant
    var lastUp: MonotonicInstant
    var clientEnd = ClientEnd.connecting
    var isServerEndOpen = false
    /// Whether all data is silently lost.
    var isBlackHole = false
    var isReadingPaused = false
    var openedAt: MonotonicInstant

    init(number: Int, reception: PusherSchedule.Connecting, machine: WebSocketMachine?, now: MonotonicInstant) {
        self.number = number
        self.reception = reception
        self.machine = machine
        lastDown = now
        lastUp = now
        openedAt = now
    }

    /// Drops data in transit except for the first `count` pieces and a part of the next.
    func cut(keeping count: Int, bytes: (Int) -> Int, now: MonotonicInstant) {
        let arrived = down.prefix { $0.arrival <= now }.count
        let rest = down.dropFirst(arrived)
        down = Array(down.prefix(arrived) + rest.prefix(count))
        if case .bytes(let piece)? = rest.dropFirst(count).first?.content, !piece.isEmpty {
            down.append((max(lastDown, now), .bytes(Array(piece.prefix(bytes(piece.count))))))
        }
        lastDown = max(now, down.last?.arrival ?? now)
        up = up.filter { $0.arrival <= now }
    }

    /// Returns data that has arrived, up to the limit of one read.
    func read(atMost count: Int, now: MonotonicInstant) -> [Downstream] {
        let ready = down.prefix(count).prefix { $0.arrival <= now }.count
        defer { down.removeFirst(ready) }
        return down.prefix(ready).map(\.content)
    }

    var isReading: Bool { clientEnd == .closing || clientEnd == .open && !isReadingPaused }
}
