import Foundation
import Testing

@testable import PusherProtocol

struct Base64Tests {
    private func decode(_ text: String) -> [UInt8]? {
        Array(text.utf8).withUnsafeBufferPointer { Base64.decode($0) }
    }

    @Test(arguments: 0...70)
    func whatFoundationEncodesIsDecoded(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + count) }
        #expect(decode(Data(bytes).base64EncodedString()) == bytes)
    }

    @Test(arguments: [
        "a", "ab", "abc", "ab=d", "=abc", "a===", "====", "abc ", " abc", "ab\nc", "abc\n", "ab c", "ab-_", "abcd=",
        "ab==abcd",
        "abcdabc-", "äbc", "abc\u{0}",
    ])
    func otherTextsAreRefused(text: String) {
        #expect(decode(text) == nil)
    }
}
