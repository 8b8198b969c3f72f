import Foundation

@testable import Transport

/// A generator that counts up, so that masks and keys are predictable but different.
struct CountingGenerator: RandomNumberGenerator {
    private var value: UInt64 = 0

    mutating func next() -> UInt64 {
        value &+= 0x0123_4567_89AB_CDEF
        return value
    }
}

/// A WebSocket machine driven manually.
struct WebSocketScript {
    var machine: WebSocketMachine
    var random = CountingGenerator()
    private(set) var messages: [WebSocketMessage] = []
    private(set) var end: WebSocketClosure?
    private(set) var isOpened = false
    private(set) var pongCount = 0
    let handshake: String

    init(_ request: WebSocketRequest = WebSocketRequest(url: "ws://example.com/app")) throws {
        machine = try WebSocketMachine(request, using: &random)
        handshake = String(decoding: machine.takeOutput(), as: UTF8.self)
    }

    static func opened(_ request: WebSocketRequest = WebSocketRequest(url: "ws://example.com/app")) throws -> Self {
        var script = try WebSocketScript(request)
        script.receive(script.acceptance())
        return script
    }

    /// The server's response to the handshake.
    func acceptance(_ extra: String = "") -> [UInt8] {
        let key = handshake.components(separatedBy: "Sec-WebSocket-Key: ")[1].prefix(24)
        let accept = ClientHandshake.accept(key: String(key))
        return Array(
            ("HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n"
                + "Sec-WebSocket-Accept: \(accept)\r\n\(extra)\r\n").utf8)
    }

    mutating func receive(_ bytes: [UInt8]) {
        take(machine.receive(bytes, using: &random))
        while machine.hasRest { take(machine.resume(using: &random)) }
    }

    private mutating func take(_ received: WebSocketMachine.Received) {
        messages += received.messages
        isOpened = isOpened || received.isOpened
        if received.hasPong { pongCount += 1 }
        end = end ?? received.end
    }

    /// Returns the frames that the machine wrote since the last call, unmasked: opcode and payload.
    mutating func takeFrames() -> [(opcode: UInt8, payload: [UInt8], key: [UInt8])] {
        var bytes = machine.takeOutput()[...]
        var frames: [(UInt8, [UInt8], [UInt8])] = []
        while bytes.count >= 6 {
            let start = bytes.startIndex
            var head = 2
            var length = Int(bytes[start + 1] & 0x7F)
            if length == 126 {
                length = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
                head = 4
            } else if length == 127 {
                length = bytes[(start + 2)..<(start + 10)].reduce(0) { $0 << 8 | Int($1) }
                head = 10
            }
            let key = Array(bytes[(start + head)..<(start + head + 4)])
            let payload = bytes[(start + head + 4)..<(start + head + 4 + length)]
            frames.append((bytes[start], payload.enumerated().map { $1 ^ key[$0 % 4] }, key))
            bytes = bytes[(start + head + 4 + length)...]
        }
        return frames
    }
}

/// Returns a frame as a server sends it.
func frame(_ first: UInt8, _ payload: [UInt8], masked: Bool = false) -> [UInt8] {
    let mask: UInt8 = masked ? 0x80 : 0
    var bytes: [UInt8] = [first]
    switch payload.count {
    case ..<126: bytes.append(mask | UInt8(payload.count))
    case ..<65_536: bytes += [mask | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    default: bytes += [mask | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
    }
    return bytes + (masked ? [0, 0, 0, 0] : []) + payload
}

func text(_ text: String) -> [UInt8] { frame(0x81, Array(text.utf8)) }
