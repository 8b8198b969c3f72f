import TestSupport
import Testing

@testable import Transport

struct UTF8ValidatorTests {
    /// All prefixes, followed by bytes just inside and just outside the bounds of RFC 3629, section 4.
    @Test func itAgreesWithTheStandardLibraryAtEveryBound() {
        let second: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
        let others: [UInt8] = [0x7F, 0x80, 0xBF, 0xC0]
        for first in UInt8.min ... .max {
            expectAgreement([first])
            for second in second {
                expectAgreement([first, second])
                for third in others {
                    expectAgreement([first, second, third])
                    for fourth in others { expectAgreement([first, second, third, fourth]) }
                }
            }
        }
    }

    private func expectAgreement(_ bytes: [UInt8]) {
        let isValid = String(validating: bytes, as: UTF8.self) != nil
        guard UTF8Validator.isValid(bytes) != isValid else { return }
        Issue.record("\(bytes) \(isValid ? "is" : "is not") UTF-8")
    }

    /// Input that cannot become valid is rejected at once; input that still can is waited for.
    @Test(
        arguments: [
            ([0xC2], true), ([0xC1], false), ([0xE0, 0xA0], true), ([0xE0, 0x9F], false), ([0xED, 0xA0], false),
            ([0xF0, 0x90, 0x80], true), ([0xF0, 0x8F], false), ([0xF4, 0x90], false), ([0xF5], false),
        ] as [([UInt8], Bool)])
    func theBeginningOfACharacterIsJudgedAtOnce(bytes: [UInt8], isAccepted: Bool) {
        var validator = UTF8Validator()
        #expect(bytes.withUnsafeBytes { validator.accepts($0) } == isAccepted)
        if isAccepted { #expect(!validator.isComplete) }
    }

    /// Nearly all text is ASCII.
    @Test func asciiIsCheckedManyBytesAtOnce() {
        let ascii = [UInt8](repeating: 0x61, count: 1 << 20)
        let others = Array(String(repeating: "é", count: 1 << 19).utf8)
        let (fast, slow) = (
            cpuTime { #expect(UTF8Validator.isValid(ascii)) }, cpuTime { #expect(UTF8Validator.isValid(others)) }
        )
        #expect(fast * 4 < slow)
    }
}
