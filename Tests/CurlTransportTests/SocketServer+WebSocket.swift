import Foundation
import TestSupport

@testable import Transport

extension SocketServer.Peer {
    /// Reads the handshake of a WebSocket client and accepts it.
    func acceptWebSocket() {
        let key = readHead().components(separatedBy: "Sec-WebSocket-Key: ").last?.prefix(24) ?? ""
        write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: \(ClientHandshake.accept(key: String(key)))\r\n\r\n")
    }
}
