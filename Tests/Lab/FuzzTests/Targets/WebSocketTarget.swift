@testable import Transport

/// The first byte selects the maximum message size, the second the split of the rest into reads.
func fuzzWebSocket(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard bytes.count > 2 else { return }
    let (limit, machine) = openMachines[Int(bytes[0]) % openMachines.count]
    let stream = Array(bytes.dropFirst(2))
    let whole = Decoded(stream, chunkSizes: [stream.count], by: machine)
    let bySeed = Decoded(stream, chunkSizes: chunkSizes(seed: bytes[1]), by: machine)
    let byByte = Decoded(stream, chunkSizes: [1], by: machine)
    try claim("reads of any size give the same", whole == bySeed)
    try claim("reads of a byte each give the same", whole == byByte)
    for decoded in [whole, bySeed, byByte] {
        try claim("no message is larger than allowed", decoded.largestMessage <= limit)
        try claim("nothing comes after the end", !decoded.wentOnAfterEnd)
        try claim("text is UTF-8", decoded.textIsValid)
    }
}

/// Machines after the handshake, by maximum message size. Copies would share only compression, and there is none: hence
/// `nonisolated(unsafe)`.
nonisolated(unsafe) private let openMachines: [(limit: Int, machine: WebSocketMachine)] = [0, 5, 125, 1000].flatMap {
    limit in
    [.close, .discard].compactMap { (oversized: WebSocketRequest.OversizedMessages) in
        var random = Zeros()
        let request = WebSocketRequest(
            url: "ws://example.com/", maximumMessageSize: limit, oversizedMessages: oversized)
        guard var machine = try? WebSocketMachine(request, using: &random) else { return nil }
        _ = machine.takeOutput()
        _ = machine.receive(acceptance(of: nonceOfZeros), using: &random)
        return (limit, machine)
    }
}

/// A machine's result for a stream.
private struct Decoded: Equatable {
    private(set) var messages: [WebSocketMessage] = []
    private(set) var output: [UInt8] = []
    private(set) var pongs = 0
    private(set) var end: WebSocketClosure?
    private(set) var wentOnAfterEnd = false

    init(_ stream: [UInt8], chunkSizes: [Int], by machine: WebSocketMachine) {
        var machine = machine
        var random = Zeros()
        machine.ping(using: &random)
        var rest = stream[...]
        var turn = 0
        while !rest.isEmpty {
            let chunk = rest.prefix(max(chunkSizes[turn % chunkSizes.count], 1))
            rest = rest.dropFirst(chunk.count)
            turn += 1
            let received = machine.receive(Array(chunk), using: &random)
            wentOnAfterEnd = wentOnAfterEnd || end != nil && (received.end != nil || !received.messages.isEmpty)
            messages += received.messages
            pongs += received.hasPong ? 1 : 0
            end = end ?? received.end
        }
        output = machine.takeOutput()
    }

    var largestMessage: Int {
        messages.map { message in
            switch message {
            case .text(let bytes), .binary(let bytes): bytes.count
            case .oversized: 0
            }
        }.max() ?? 0
    }

    var textIsValid: Bool {
        messages.allSatisfy { message in
            switch message {
            case .text(let bytes): String(validating: bytes, as: UTF8.self) != nil
            case .binary, .oversized: true
            }
        }
    }

    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.messages == rhs.messages && lhs.output == rhs.output && lhs.end == rhs.end && lhs.pongs == rhs.pongs
    }
}

/// Returns sizes of 1 to 16, the same for the same seed.
func chunkSizes(seed: UInt8) -> [Int] {
    var value = UInt32(seed) &+ 1
    return (0..<16).map { _ in
        value = value &* 1_664_525 &+ 1_013_904_223
        return Int(value >> 28) + 1
    }
}

/// A generator without randomness, so that two runs give the same result.
struct Zeros: RandomNumberGenerator {
    // Without a stored property, instances in several threads may share an address, which ThreadSanitizer reports as a
    // race.
    private let zero: UInt64 = 0

    mutating func next() -> UInt64 { zero }
}

/// The `Sec-WebSocket-Key` of a client without randomness.
let nonceOfZeros = "AAAAAAAAAAAAAAAAAAAAAA=="

func acceptance(of key: String) -> [UInt8] {
    Array(
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(ClientHandshake.accept(key: key))\r\n\r\n").utf8)
}
