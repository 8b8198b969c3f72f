import TestSupport
import Testing

@testable import Transport

/// Random streams of valid and invalid frames give the same result wherever reads end.
struct FrameSplitTests {
    private struct Result: Equatable {
        var messages: [WebSocketMessage] = []
        var controls: [String] = []
    }

    private struct Stream {
        private static let maximumMessageSize = 300

        var bytes: [UInt8] = []
        let isCompressed: Bool
        let keepsContext: Bool
        let oversized: WebSocketRequest.OversizedMessages

        private let deflater: Deflater?

        init(using random: inout XorShift) {
            (isCompressed, keepsContext) = (Bool.random(using: &random), Bool.random(using: &random))
            oversized = Bool.random(using: &random) ? .discard : .close
            deflater = isCompressed ? Deflater(windowBits: 15, keepsContext: keepsContext) : nil
            for _ in 0..<Int.random(in: 1...5, using: &random) { add(using: &random) }
        }

        private mutating func add(using random: inout XorShift) {
            let count = Bool.random(using: &random) ? Int.random(in: 0...40, using: &random) : 130
            let text = (0..<count).map { _ in Character(["a", "é", "☃", "😀"].randomElement(using: &random) ?? "a") }
            var payload = Array(String(text).utf8)
            let isText = Bool.random(using: &random)
            var first: UInt8 = isText ? 0x01 : 0x02
            if let deflater, Bool.random(using: &random) {
                (payload, first) = (deflater.deflate(payload), first | 0x40)
            } else if Int.random(in: 0..<8, using: &random) == 0, !payload.isEmpty {
                payload[Int.random(in: payload.indices, using: &random)] = 0xFF
            }
            let pieces = Int.random(in: 1...3, using: &random)
            var rest = payload[...]
            for piece in 1...pieces {
                let part = piece == pieces ? rest : rest.prefix(Int.random(in: 0...rest.count, using: &random))
                rest = rest.dropFirst(part.count)
                bytes += frame((piece == pieces ? 0x80 : 0) | (piece == 1 ? first : 0), Array(part))
                if Bool.random(using: &random) { bytes += control(using: &random) }
            }
        }

        private func control(using random: inout XorShift) -> [UInt8] {
            switch Int.random(in: 0..<40, using: &random) {
            case 0: frame(0x88, [0x03, 0xE8] + Array("bye ☃".utf8))
            case 1: frame(0x88, [0x03])
            case 2: frame(0x83, [])  // an undefined opcode
            case 3: frame(0x80, [1])  // perhaps a continuation of nothing
            case 4..<20: frame(0x89, [UInt8](repeating: 7, count: Int.random(in: 0...125, using: &random)))
            case _: frame(0x8A, [1, 2])
            }
        }

        func decoded(_ chunks: [ArraySlice<UInt8>]) -> Result {
            var decoder = FrameDecoder(maximumMessageSize: Self.maximumMessageSize, oversized: oversized)
            if isCompressed { decoder.inflatesMessages(windowBits: 15, peerKeepsContext: keepsContext) }
            var result = Result()
            for chunk in chunks {
                var output = FrameDecoder.Output()
                decoder.decode(Array(chunk), into: &output)
                result.messages += output.messages.map { message in
                    // The reads determine how much of a compressed message is inflated before it proves too large.
                    guard isCompressed, case .oversized(let byteCount) = message else { return message }
                    #expect(byteCount > Self.maximumMessageSize)
                    return .oversized(byteCount: 0)
                }
                result.controls += output.controls.map { "\($0)" }
            }
            return result
        }
    }

    @Test(arguments: 0..<8)
    func whereReadsEndChangesNothing(seed: UInt64) {
        var random = XorShift(seed: seed)
        for _ in 0..<15 {
            let stream = Stream(using: &random)
            let bytes = stream.bytes
            let whole = stream.decoded([bytes[...]])
            #expect(stream.decoded(bytes.indices.map { bytes[$0...$0] }) == whole, "\(bytes)")
            for cut in bytes.indices {
                guard stream.decoded([bytes[..<cut], bytes[cut...]]) == whole else {
                    Issue.record("cut at \(cut): \(bytes)")
                    return
                }
            }
        }
    }
}
