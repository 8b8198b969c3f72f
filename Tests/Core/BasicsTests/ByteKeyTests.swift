import Basics
import Testing

struct ByteKeyTests {
    /// Equal as `String`s, but different names to every peer.
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

/// Collections with byte keys, looked up by text.
struct ByteKeyCollectionTests {
    @Test func aDictionaryTellsCanonicallyEqualTextsApart() {
        var counts: [ByteKey: Int] = [:]
        counts["\u{E9}"] = 1
        counts["e\u{301}", default: 10] += 1
        // The Kelvin sign is canonically equal to a plain letter.
        counts["K"] = 3
        #expect(counts["\u{E9}"] == 1 && counts["e\u{301}"] == 11 && counts["\u{212A}"] == nil)
        #expect(counts.removeValue(forKey: "e\u{301}") == 11)
        #expect(counts["\u{E9}"] == 1 && counts.count == 2)
    }

    @Test func aSetTellsCanonicallyEqualTextsApart() {
        var ids: Set<ByteKey> = Set(texts: ["\u{E9}"])
        #expect(!ids.contains("e\u{301}"))
        let (isNew, isNewAgain) = (ids.insert("e\u{301}"), ids.insert("e\u{301}"))
        #expect(isNew && !isNewAgain)
        let (wasThere, wasThereStill) = (ids.remove("\u{E9}"), ids.remove("\u{E9}"))
        #expect(wasThere && !wasThereStill)
        #expect(ids.contains("e\u{301}") && ids.count == 1)
    }
}
