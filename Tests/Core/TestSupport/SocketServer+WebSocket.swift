import CLibcrypto
import Foundation

/// A WebSocket server that checks nothing.
extension SocketServer.Peer {
    /// Reads the handshake of a WebSocket client and accepts it.
    ///
    /// - Parameter extensions: The extensions to accept.
    package func acceptWebSocket(extensions: String? = nil) {
        let key = readHead().components(separatedBy: "Sec-WebSocket-Key: ").last?.prefix(24) ?? ""
        let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        EVP_Digest(text, text.count, &digest, nil, EVP_sha1(), nil)
        write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + (extensions.map { "Sec-WebSocket-Extensions: \($0)\r\n" } ?? "")
                + "Sec-WebSocket-Accept: \(Data(digest).base64EncodedString())\r\n\r\n")
    }

    /// Writes a whole frame of any length.
    package func writeFrame(_ payload: [UInt8], opcode: UInt8 = 1) {
        let length: [UInt8]
        switch payload.count {
        case ..<126: length = [UInt8(payload.count)]
        case ..<65_536: length = [126] + (0..<2).reversed().map { UInt8(payload.count >> ($0 * 8) & 255) }
        default: length = [127] + (0..<8).reversed().map { UInt8(payload.count >> ($0 * 8) & 255) }
        }
        write([0x80 | opcode] + length + payload)
    }

    package func writeFrame(_ text: String) { writeFrame(Array(text.utf8)) }

    package func writeClose(code: UInt16, reason: [UInt8]) {
        writeFrame([UInt8(code >> 8), UInt8(code & 255)] + reason, opcode: 8)
    }

    /// Returns the payload of the client's next frame; `nil` at the end, or if the frame is not masked.
    package func readFrame() -> String? {
        guard let head = readExactly(2), head[1] & 0x80 != 0 else { return nil }
        var count = Int(head[1] & 0x7F)
        if count > 125 {
            guard let length = readExactly(count == 126 ? 2 : 8) else { return nil }
            count = length.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let mask = readExactly(4), let payload = readExactly(count) else { return nil }
        return String(decoding: payload.enumerated().map { $1 ^ mask[$0 % 4] }, as: UTF8.self)
    }

    private func readExactly(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let next = read(atMost: count - bytes.count)
            if next.isEmpty { return nil }
            bytes += next
        }
        return bytes
    }
}
