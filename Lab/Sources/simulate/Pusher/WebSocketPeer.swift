import CLibcrypto
import Foundation

/// The server's side of a WebSocket, for schedules that use bytes (RFC 6455).
struct WebSocketPeer {
    enum Received {
        case handshake(answer: [UInt8])
        case text(String)
        case close
        case pong
    }

    private var bytes: [UInt8] = []
    private var isOpen = false

    mutating func receive(_ chunk: [UInt8]) -> [Received] {
        bytes += chunk
        var received: [Received] = []
        if !isOpen {
            let head = String(decoding: bytes, as: UTF8.self)
            guard head.hasSuffix("\r\n\r\n"), let key = head.firstMatch(of: /Sec-WebSocket-Key: (\S+)\r\n/)?.1 else {
                return []
            }
            bytes = []
            isOpen = true
            return [.handshake(answer: Self.answer(key: String(key)))]
        }
        while let frame = takeFrame() { received.append(frame) }
        return received
    }

    private mutating func takeFrame() -> Received? {
        guard bytes.count >= 6 else { return nil }
        var length = Int(bytes[1] & 0x7F)
        var start = 2
        if length == 126 {
            length = Int(bytes[2]) << 8 | Int(bytes[3])
            start = 4
        }
        guard length < 127 || start == 4, bytes.count >= start + 4 + length else { return nil }
        let mask = Array(bytes[start..<start + 4])
        let payload = (0..<length).map { bytes[start + 4 + $0] ^ mask[$0 % 4] }
        let opcode = bytes[0] & 0x0F
        bytes.removeFirst(start + 4 + length)
        switch opcode {
        case 8: return .close
        case 10: return .pong
        default: return .text(String(decoding: payload, as: UTF8.self))
        }
    }

    static func frame(_ opcode: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let head: [UInt8] =
            payload.count < 126
            ? [0x80 | opcode, UInt8(payload.count)]
            : [0x80 | opcode, 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        return head + payload
    }

    private static func answer(key: String) -> [UInt8] {
        let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        EVP_Digest(text, text.count, &digest, &length, EVP_sha1(), nil)
        let accept = Data(digest.prefix(Int(length))).base64EncodedString()
        return Array(
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: \(accept)\r\n\r\n").utf8)
    }
}
