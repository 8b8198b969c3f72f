import Basics
import Testing

struct ByteKeyTests {
    /// Equal as `String`s, and different names to every peer.
    private static let composed = "\u{E9}"
    private static let decomposed = "e\u{301}"

    @Test func canonicallyEqualTextsAreDifferentKeys() {
        #expect(Self.composed == Self.decomposed)
        #expect(ByteKey(Self.composed) != ByteKey(Self.decomposed))
        let keys = [ByteKey(Self.composed): 1, ByteKey(Self.decomposed): 2]
        #expect(keys[ByteKey(Self.composed)] == 1 && keys[ByteKey(Self.decomposed)] == 2)
    }

    @Test func aKeyGivesBackTheTextByteForByte() {
        for text in [Self.composed, Self.decomposed, "", "a\u{0}b"] {
            #expect(Array(ByteKey(text).string.utf8) == Array(text.utf8))
        }
    }

    @Test func aSliceEqualsTheSameBytesElsewhere() {
        #expect(ByteKey(Array("xay".utf8)[1..<2]) == ByteKey("a"))
    }
}
