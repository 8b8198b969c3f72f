import Basics
import CurlTransport
import Foundation
import PusherProtocol
import Realtime
import Transport

/// The network between the client's transport and the server.
extension PusherSimulation {
    // MARK: Opening

    func openLink(url: String) -> Link {
        let reception = now < serverIsDownUntil ? .refused : connecting
        let link = Link(
            number: links.count, reception: reception, machine: schedule.options.isBytewise ? webSocket(url) : nil,
            now: now)
        links.append(link)
        switch reception {
        case .refused: after(random.seconds(0...0.1)) { [unowned self] in linkFailed(link) }
        case .slow: after(random.seconds(1...40)) { [unowned self] in linkOpened(link) }
        case .blackHole: break
        case .normal, .silent, .garbage, .noActivityTimeout, .error:
            after(latency + random.seconds(0.001...0.05)) { [unowned self] in linkOpened(link) }
        }
        return link
    }

    private func webSocket(_ url: String) -> WebSocketMachine? {
        var generator = JitterGenerator(seed: random.next())
        return try? WebSocketMachine(
            WebSocketRequest(url: url, maximumMessageSize: 10 << 20, oversizedMessages: .discard), using: &generator)
    }

    func linkFailed(_ link: Link) {
        guard link.clientEnd == .connecting else { return }
        statistics.count(.refused)
        ended(link, WebSocketClosure(code: 1006, error: TransportError(.couldNotConnect, "refused")))
    }

    func linkOpened(_ link: Link) {
        guard link.clientEnd == .connecting else { return }
        guard now >= serverIsDownUntil else { return linkFailed(link) }
        link.clientEnd = .open
        link.isServerEndOpen = true
        if link.machine == nil {
            opened(link)
            greet(link)
        } else {
            flush(link)
        }
    }

    private func greet(_ link: Link) {
        switch link.reception {
        case .normal, .slow, .refused, .blackHole: server.accept(link.number, activityTimeout: 30)
        case .noActivityTimeout: server.accept(link.number, activityTimeout: nil)
        case .silent: break
        case .garbage: sendDown(text: #"{"event":"hello","data":"{}"}"#, on: link)
        case .error(let code):
            sendDown(text: #"{"event":"pusher:error","data":{"code":\#(code),"message":"no"}}"#, on: link)
        }
    }

    // MARK: To the client

    func sendServerFrames() {
        guard !server.outbox.isEmpty else { return }
        let frames = server.outbox
        server.outbox = []
        for (number, frame) in frames { sendDown(text: frame, on: links[number]) }
    }

    func sendDown(text: String, on link: Link) {
        log("  server \(link.number) → \(text)")
        guard link.machine != nil else { return sendDown(.message(.text(Array(text.utf8)[...])), on: link) }
        sendDown(bytes: WebSocketPeer.frame(1, Array(text.utf8)), on: link)
    }

    /// Sends bytes, split at any point.
    func sendDown(bytes: [UInt8], on link: Link) {
        guard random.chance(30), bytes.count > 2 else { return sendDown(.bytes(bytes), on: link) }
        let middle = 1 + random.below(bytes.count - 1)
        sendDown(.bytes(Array(bytes[..<middle])), on: link)
        sendDown(.bytes(Array(bytes[middle...])), on: link)
    }

    func sendDown(_ content: Link.Downstream, on link: Link) {
        guard link.isServerEndOpen, !link.isBlackHole, link.clientEnd != .gone else { return }
        link.lastDown = max(link.lastDown, now + latency + random.seconds(0...0.02))
        link.down.append((link.lastDown, content))
        stage.loop.add(at: link.lastDown) { [unowned self] in read(link) }
    }

    /// The server ends the connection with a close frame.
    func close(_ link: Link, code: Int) {
        log("  server closes \(link.number) with \(code)")
        if link.machine == nil {
            sendDown(.close(code: UInt16(code)), on: link)
        } else {
            sendDown(bytes: WebSocketPeer.frame(8, [UInt8(code >> 8), UInt8(code & 0xFF)]), on: link)
            sendDown(.broken, on: link)
        }
        server.lost(link.number)
        link.isServerEndOpen = false
    }

    /// Breaks the connection; the server needs a while to notice.
    func cut(_ link: Link) {
        log("  connection \(link.number) breaks")
        link.cut(
            keeping: random.below(4), bytes: { random.below($0) }, now: now)
        sendDown(.broken, on: link)
        link.isServerEndOpen = false
        after(random.seconds(0...20)) { [unowned self] in serverNotices(link) }
    }

    func makeBlackHole(_ link: Link) {
        log("  connection \(link.number) becomes a black hole")
        link.isBlackHole = true
        link.down.removeAll { $0.arrival > now }
        link.up.removeAll { $0.arrival > now }
        after(random.seconds(60...120)) { [unowned self] in serverNotices(link) }
    }

    func serverNotices(_ link: Link) {
        server.lost(link.number)
        link.isServerEndOpen = false
    }

    /// The connection that the server believes to be live.
    var liveLink: Link? { links.last { $0.isServerEndOpen && !$0.isBlackHole } }

    // MARK: To the server

    func sendUp(_ content: Link.Upstream, on link: Link) {
        guard !link.isBlackHole else { return }
        link.lastUp = max(link.lastUp, now + latency + random.seconds(0...0.02))
        link.up.append((link.lastUp, content))
        stage.loop.add(at: link.lastUp) { [unowned self] in readAtServer(link) }
    }

    func flush(_ link: Link) {
        guard link.clientEnd != .connecting, let bytes = link.machine?.takeOutput(), !bytes.isEmpty else { return }
        sendUp(.bytes(bytes), on: link)
    }

    func readAtServer(_ link: Link) {
        while let first = link.up.first, first.arrival <= now {
            link.up.removeFirst()
            guard link.isServerEndOpen else { continue }
            switch first.content {
            case .request(let request): server.received(request, on: link.number)
            case .close: close(link, code: 1000)
            case .bytes(let bytes):
                for received in link.peer.receive(bytes) {
                    switch received {
                    case .handshake(let answer):
                        sendDown(bytes: answer, on: link)
                        greet(link)
                    case .text(let text):
                        if let request = PusherServer.Request(text: text) {
                            server.received(request, on: link.number)
                        } else {
                            server.complaints.append("a frame that no client sends")
                        }
                    case .close: close(link, code: 1000)
                    case .pong: break
                    }
                }
            }
            sendServerFrames()
        }
    }
}
