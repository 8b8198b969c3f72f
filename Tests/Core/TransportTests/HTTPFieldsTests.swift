import Testing

@testable import Transport

struct HTTPFieldsTests {
    @Test func namesCompareWithoutCase() {
        var fields: HTTPFields = ["X-A": "1", "x-a": "2", "X-B": "3"]
        #expect(fields["x-A"] == "1")
        fields["X-a"] = "4"
        #expect(fields.fields.map(\.value) == ["3", "4"])
        fields["X-B"] = nil
        #expect(fields.fields.map(\.name) == ["X-a"])
    }

    @Test(
        arguments: [
            ("AMZ", "amz", true), ("A", "b", false), ("a", "ab", false), ("@", "`", false), ("[", "{", false),
            ("É", "é", false), ("", "", true),
        ])
    func onlyLettersOfASCIIHaveACase(first: String, second: String, areEqual: Bool) {
        #expect(first.equalsIgnoringASCIICase(second) == areEqual)
    }

    @Test(arguments: ["", "X A", "X\u{7F}", "X:", "X\r", "Ü", "\t"])
    func namesThatCannotBeSentAreRefused(name: String) {
        var fields = HTTPFields()
        fields.append(name: name, value: "a")
        #expect(throws: TransportError.self) { try fields.validate() }
    }

    @Test(arguments: ["a\r", "\nb", "a\u{0}", "a\r\nX: y"])
    func valuesThatWouldEndTheirLineAreRefused(value: String) {
        #expect(throws: TransportError.self) { try (["X": value] as HTTPFields).validate() }
    }

    @Test(arguments: ["", "a b", "\ttab", "\u{B}\u{C}\u{E}", "ü"])
    func otherValuesAreSent(value: String) throws {
        try (["!X~": value] as HTTPFields).validate()
    }

    @Test func aDescriptionHasNoValues() {
        #expect((["X-A": "secret", "X-B": "secret"] as HTTPFields).description == "header fields X-A, X-B")
    }
}
