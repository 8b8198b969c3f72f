import Foundation
import TestSupport
import Testing

@testable import MatrixKit

@Suite struct LinkDetectorTests {
    private func links(_ text: String, accepts: (Character) -> Bool = { _ in true }) -> [String] {
        LinkDetector.runs(MXKText.Run(text), accepts: accepts).compactMap { $0.style.link == nil ? nil : $0.text }
    }

    @Test(
        arguments: [
            ("see https://example.org/a.", ["https://example.org/a"]), ("(http://a.org)", []),
            ("https://en.org/a_(b)", ["https://en.org/a_(b)"]), ("https://a.org).", ["https://a.org"]),
            ("HTTPS://A.ORG", ["HTTPS://A.ORG"]), ("@bob:s.org, hi", ["@bob:s.org"]), ("#room:s.org", ["#room:s.org"]),
            ("!id:s.org", ["!id:s.org"]), ("@bob", []), ("mail@bob.org", []), ("mailto:a@b.org", ["mailto:a@b.org"]),
            ("javascript:alert(1)", []), ("https://", []), ("a\nhttps://b.org\nc", ["https://b.org"]), ("", []),
            ("# title", []),
        ] as [(String, [String])])
    func areFound(text: String, expected: [String]) {
        #expect(links(text) == expected)
        #expect(LinkDetector.runs(MXKText.Run(text)) { _ in true }.map(\.text).joined() == text)
    }

    @Test func kindsCanBeLeftOut() {
        #expect(links("@a:s #b:s https://c.org") { $0 == "#" } == ["#b:s"])
    }

    @Test(arguments: ["(", ")", "@a:s ", "https://a.org/", "x)", ".", " "])
    func longTextsCostNoMoreThanTheirLength(piece: String) {
        let growth = growth(from: 2_000) { _ = links(String(repeating: piece, count: $0)) }
        #expect(growth < 24, "\(growth)")
    }
}
