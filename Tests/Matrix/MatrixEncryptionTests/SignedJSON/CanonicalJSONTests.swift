import Foundation
import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

@Suite struct CanonicalJSONTests {
    private let vectors = Vectors.file("signed_json")

    private func canonical(_ text: String) throws -> String {
        let view = try #require(JSONView(Array(text.utf8)), "\(text)")
        return String(decoding: try CanonicalJSON.bytes(of: view), as: UTF8.self)
    }

    @Test func eachValueHasOneSpelling() throws {
        for vector in try vectors.list("canonical") {
            let text = try vector.text("json")
            #expect(try Array(canonical(text).utf8) == vector.hex("canonical_hex"), "\(text)")
        }
        for vector in try vectors.list("canonical_refused") {
            let text = try vector.text("json")
            try expectRefusal(vector, text) { _ = try canonical(text) }
        }
    }

    @Test func whatIsCanonicalStaysAsItIs() throws {
        var json = RandomJSON(seed: 18)
        var kept = 0
        for _ in 0..<2_000 {
            let text = json.value()
            do {
                let once = try canonical(text)
                #expect(try canonical(once) == once)
                #expect(!once.contains("\n"))
                kept += 1
            } catch EncryptionError.float {
                #expect(text.contains(".") || text.contains("e"))
            }
        }
        #expect(kept > 500)
    }

    /// As in ``JSONView``: the verified bytes are the bytes that are read.
    @Test func ofEqualKeysTheLastCounts() throws {
        #expect(try canonical(#"{"a":1,"b":2,"\u0061":3}"#) == #"{"a":3,"b":2}"#)
        #expect(try canonical(#"{"a":1,"A":2}"#) == #"{"A":2,"a":1}"#)
    }

    @Test func numbersHaveNoSignOfZeroAndNoLeadingZeros() throws {
        #expect(try canonical("[-0,0,-1]") == "[0,0,-1]")
        #expect(throws: EncryptionError.notJSON) { try canonical("[01]") }
        #expect(throws: EncryptionError.integerRange) {
            try canonical("[" + String(repeating: "9", count: 5_000) + "]")
        }
    }

    @Test(arguments: [
        #"{"a":tru}"#, #"{"a":"\x"}"#, #"["\ud800"]"#, "[1,]", #"{"a":[}"#, "{\"a\":\"\u{1}\"}", #"{"a"}"#,
    ])
    func whatIsNotJSONIsRefused(text: String) {
        guard let view = JSONView(Array(text.utf8)) else { return }
        #expect(throws: EncryptionError.notJSON) { try CanonicalJSON.bytes(of: view) }
    }

    @Test func invalidTextIsRefused() throws {
        let view = try #require(JSONView([0x22, 0xC3, 0x22]))
        #expect(throws: EncryptionError.notJSON) { try CanonicalJSON.bytes(of: view) }
        #expect(throws: EncryptionError.notJSON) { try CanonicalJSON.bytes(of: .nothing) }
    }

    @Test(.rule("R3"), arguments: [("[", "]"), (#"{"a":"#, "}")])
    func deepNestingIsRefused(opening: String, closing: String) throws {
        func nested(_ depth: Int) -> String {
            String(repeating: opening, count: depth) + "1" + String(repeating: closing, count: depth)
        }
        let deepest = nested(CanonicalJSON.maximumDepth)
        #expect(try canonical(deepest) == deepest)
        #expect(throws: EncryptionError.depth) { try canonical(nested(CanonicalJSON.maximumDepth + 1)) }
        #expect(throws: EncryptionError.self) { try canonical(nested(200_000)) }
    }
}
