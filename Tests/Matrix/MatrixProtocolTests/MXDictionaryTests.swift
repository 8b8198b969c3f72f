import Foundation
import JSONBytes
import MatrixProtocol
import Testing

struct MXDictionaryTests {
    private let composed = "\u{E9}"
    private let decomposed = "e\u{301}"

    @Test func keysThatLookAlikeAreTwo() {
        var dictionary: MXDictionary<Int> = [composed: 1, decomposed: 2]
        #expect(dictionary.count == 2 && dictionary[composed] == 1 && dictionary[decomposed] == 2)
        dictionary[composed] = nil
        #expect(dictionary.keys.map { Array($0.utf8) } == [Array(decomposed.utf8)])
    }

    /// A stored summary has tags without an order.
    @Test func valuesThatAreNullSurviveStorage() throws {
        let tags: MXDictionary<Double?> = ["m.favourite": 0.5, "u.a": Double?.none]
        let data = try JSONEncoder().encode(tags)
        #expect(try JSONBytesDecoder().decode(MXDictionary<Double?>.self, from: data) == tags)
        #expect(try JSONDecoder().decode(MXDictionary<Double?>.self, from: data) == tags)
        #expect(
            try JSONDecoder().decode([String: Double?].self, from: data) == ["m.favourite": 0.5, "u.a": Double?.none])
    }
}
