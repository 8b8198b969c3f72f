import Basics
import Testing

/// Digests and MACs against the vectors of RFC 1321, FIPS 180 and RFC 4231.
struct DigestTests {
    @Test func digestsAreThoseOfTheStandards() {
        #expect(Digest.md5(Array("abc".utf8)).hexadecimal == "900150983cd24fb0d6963f7d28e17f72")
        #expect(
            Digest.sha256(Array("abc".utf8)).hexadecimal
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test(
        arguments: [
            (
                Array(repeating: 0x0B, count: 20), "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array(repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
            // The key of the previous call must not count.
            ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
        ] as [([UInt8], String, String)])
    func signaturesAreThoseOfTheRFC(key: [UInt8], message: String, expected: String) {
        #expect(Digest.hmacSHA256(key: key, message: Array(message.utf8)).hexadecimal == expected)
    }

    @Test func comparisonTakesLengthAndEveryByteIntoAccount() {
        #expect(Digest.areEqual([1, 2], [1, 2]))
        #expect(Digest.areEqual([], []))
        #expect(!Digest.areEqual([1, 2], [1, 3]))
        #expect(!Digest.areEqual([1, 2], [1, 2, 3]))
        #expect(!Digest.areEqual([1, 2], [1]))
    }
}
