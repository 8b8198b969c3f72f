import CurlTransport
import Transport

/// A WebSocket that knows nothing of Pydio.
@NetworkActor
final class RawSocket {
    private var connection: WebSocketConnection?
    private(set) var texts: [String] = []
    private(set) var isOpen = false
    private(set) var isClosed = false

    /// Whether the server's decision is known.
    var isDecided: Bool { isOpen || isClosed }

    nonisolated init() {}

    func open(_ url: String, cookie: String?) {
        var request = WebSocketRequest(url: url)
        if let cookie { request.fields["Cookie"] = "AjaXplorer=\(cookie)" }
        let connection = WebSocketConnection(request, options: NetworkOptions(proxy: "")) { [weak self] event in
            self?.happened(event)
        }
        self.connection = connection
        connection.start()
    }

    private func happened(_ event: WebSocketConnection.Event) {
        switch event {
        case .opened: isOpen = true
        case .received(let messages, _, _):
            for case .text(let bytes) in messages { texts.append(String(decoding: bytes, as: UTF8.self)) }
        case .closed: isClosed = true
        case .reached, .pong: break
        }
    }

    func send(_ text: String) throws { try connection?.send(text: Array(text.utf8)) }
    func drop() { connection?.drop() }
}
