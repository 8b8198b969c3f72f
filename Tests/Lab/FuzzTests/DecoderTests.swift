import Testing

/// A short run of the fuzz target `json-decoder`, with the same choices every time.
struct DecoderTests {
    @Test(arguments: 0..<16)
    func ourDecoderAgreesWithFoundations(seed: Int) {
        var state = UInt64(seed + 1) &* 0x9E37_79B9_7F4A_7C15
        for round in 0..<250 {
            let bytes = (0..<160).map { _ in
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return UInt8(truncatingIfNeeded: state >> 32)
            }
            #expect(throws: Never.self, "seed \(seed), round \(round)") { try fuzzDecoder(bytes) }
        }
    }
}
