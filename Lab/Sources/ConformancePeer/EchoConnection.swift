import CurlTransport
import Transport

/// Sends every message back, with its type.
@NetworkActor
final class EchoConnection {
    private var connection: WebSocketConnection?
    private var ended: CheckedContinuation<String?, Never>?
    private var lastText: String?

    /// Returns the last text received when the connection has ended, for whatever reason: the peer judges.
    @discardableResult
    static func run(_ request: WebSocketRequest) async -> String? {
        let echo = EchoConnection()
        return await withCheckedContinuation { ended in
            echo.ended = ended
            echo.open(request)
        }
    }

    private func open(_ request: WebSocketRequest) {
        let connection = WebSocketConnection(request, options: NetworkOptions(proxy: "")) { [weak self] event in
            switch event {
            case .opened, .reached, .pong: break
            case .received(let messages, _, _): self?.echo(messages)
            case .closed: self?.finish()
            }
        }
        self.connection = connection
        connection.start()
    }

    private func echo(_ messages: WebSocketMessages) {
        do throws(TransportError) {
            for message in messages {
                switch message {
                case .text(let bytes):
                    lastText = String(decoding: bytes, as: UTF8.self)
                    try connection?.send(text: Array(bytes))
                case .binary(let bytes): try connection?.send(binary: Array(bytes))
                case .oversized: break
                }
            }
        } catch {
            connection?.close(code: 1011, reason: error.message)
        }
    }

    private func finish() {
        connection = nil
        ended?.resume(returning: lastText)
        ended = nil
    }
}
