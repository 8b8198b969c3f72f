import Basics
import CurlTransport
import TestSupport
import Transport

/// A WebSocket connection that records its events.
final class TestConnection: Sendable {
    struct Seen: Sendable {
        var isOpened = false
        var messages: [WebSocketMessage] = []
        var reads = 0
        var closures: [WebSocketClosure] = []
    }

    private let seen = Lock(Seen())
    private let connection = Lock<WebSocketConnection?>(nil)

    init(_ request: WebSocketRequest, options: NetworkOptions = NetworkOptions(proxy: "")) {
        NetworkActor.execute { [seen, connection] in
            let made = WebSocketConnection(request, options: options) { event in
                seen.withLock { seen in
                    switch event {
                    case .opened: seen.isOpened = true
                    case .received(let messages, _, _):
                        seen.reads += 1
                        seen.messages += messages
                    case .pong, .reached: break
                    case .closed(let closure): seen.closures.append(closure)
                    }
                }
            }
            connection.withLock { $0 = made }
            made.start()
        }
    }

    convenience init(port: Int, tls caFile: String? = nil) {
        var request = WebSocketRequest(url: "\(caFile == nil ? "ws" : "wss")://127.0.0.1:\(port)/")
        request.closeTimeout = .seconds(60)
        self.init(
            request, options: NetworkOptions(caFile: caFile, proxy: ""))
    }

    var now: Seen { seen.withLock { $0 } }

    func perform(_ body: @escaping @Sendable @NetworkActor (WebSocketConnection) -> Void) {
        NetworkActor.execute { [connection] in
            if let connection = connection.withLock({ $0 }) { body(connection) }
        }
    }

    /// Drops the only reference to the connection.
    func letGo() { connection.withLock { $0 = nil } }

    func send(_ text: String) {
        perform { try? $0.send(text: Array(text.utf8)) }
    }

    /// Waits until all earlier requests to the connection, and their follow-ups on the I/O thread, are done.
    func turn() async {
        for _ in 0..<2 { await withCheckedContinuation { done in NetworkActor.execute { done.resume() } } }
    }

    func waitFor(_ condition: @Sendable (Seen) -> Bool) async -> Bool {
        await eventually { condition(self.now) }
    }

    /// The reason it ended; `nil` if it is still open.
    func closure() async -> WebSocketClosure? {
        _ = await waitFor { !$0.closures.isEmpty }
        return now.closures.first
    }
}

extension WebSocketMessage {
    /// The content of a text message.
    var text: String {
        switch self {
        case .text(let bytes): String(decoding: bytes, as: UTF8.self)
        case .binary, .oversized: ""
        }
    }
}
