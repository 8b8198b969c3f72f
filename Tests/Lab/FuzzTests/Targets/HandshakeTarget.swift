@testable import Transport

/// A server's answer to the handshake. The first byte determines the split into reads.
func fuzzHandshake(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard let seed = bytes.first else { return }
    let answer = Array(bytes.dropFirst())
    let whole = try Handshaken(answer, chunkSizes: [max(answer.count, 1)])
    let cut = try Handshaken(answer, chunkSizes: chunkSizes(seed: seed))
    try claim("reads of any size give the same", whole == cut)
    if whole.isOpened {
        let text = String(decoding: answer, as: UTF8.self)
        try claim("only 101 opens", text.split(separator: " ").dropFirst().first?.hasPrefix("101") == true)
        try claim("only the right proof opens", text.contains(ClientHandshake.accept(key: nonceOfZeros)))
    }
}

/// A machine that has sent its request and waits for the answer. Copies would share only compression, and there is
/// none: hence `nonisolated(unsafe)`.
nonisolated(unsafe) private let askingMachine: WebSocketMachine? = {
    var random = Zeros()
    let request = WebSocketRequest(
        url: "ws://example.com/", subprotocols: ["chat"], maximumHandshakeSize: Handshaken.maximumSize)
    return try? WebSocketMachine(request, using: &random)
}()

private struct Handshaken: Equatable {
    static let maximumSize = 256

    private(set) var isOpened = false
    private(set) var end: TransportError?

    init(_ answer: [UInt8], chunkSizes: [Int]) throws(BrokenClaim) {
        var random = Zeros()
        guard var machine = askingMachine else { return }
        var rest = answer[...]
        var turn = 0
        while !isOpened, end == nil, !rest.isEmpty {
            let chunk = rest.prefix(chunkSizes[turn % chunkSizes.count])
            rest = rest.dropFirst(chunk.count)
            turn += 1
            let received = machine.receive(Array(chunk), using: &random)
            isOpened = received.isOpened
            // Data after the head in the same read concerns frames.
            if !isOpened { end = received.end?.error }
            let taken = answer.count - rest.count
            try claim(
                "an answer is decided within its bound", isOpened || end != nil || taken <= Self.maximumSize)
        }
    }
}
