import Foundation
import TestSupport
import Testing
import Transport

struct PublicKeyPinTests {
    private static let base64 = "8Tn6zTR0lY5aoGyQMjrQR7dgAEMT+yTFiCp9LGFkYoI="
    private static let hexadecimal = "f139facd3474958e5aa06c90323ad047b760004313fb24c5882a7d2c61646282"
    private static var withColons: String {
        stride(from: 0, to: 64, by: 2).map { start in hexadecimal.dropFirst(start).prefix(2) }.joined(separator: ":")
    }

    @Test(arguments: ["sha256//" + base64, base64, hexadecimal, hexadecimal.uppercased(), withColons])
    func everyFormIsTheSameKey(text: String) throws {
        let pin = try #require(PublicKeyPin(text))
        #expect(pin.description == "sha256//" + Self.base64)
        #expect(pin == PublicKeyPin("sha256//" + Self.base64))
        #expect(pin.sha256.count == 32)
    }

    @Test(arguments: [
        "", "sha256//", "sha256/" + base64, "sha1//" + base64, "SHA256//" + base64, String(base64.dropLast()),
        base64 + "=", base64 + ";sha256//" + base64, " " + base64, base64 + "\n", "sha256//" + hexadecimal,
        String(hexadecimal.dropLast()), hexadecimal + "0", hexadecimal.replacingOccurrences(of: "f", with: "g"),
        String(withColons.dropLast()), withColons.replacingOccurrences(of: ":", with: "-"), withColons + ":",
        "+1" + hexadecimal.dropFirst(2), "/etc/passwd", "AAAA",
    ])
    func whatIsNoDigestIsRefused(text: String) {
        #expect(PublicKeyPin(text) == nil)
    }

    @Test func itNeedsThirtyTwoBytes() {
        #expect(PublicKeyPin(sha256: [UInt8](repeating: 0, count: 31)) == nil)
        #expect(PublicKeyPin(sha256: [UInt8](repeating: 0, count: 33)) == nil)
        let pin = PublicKeyPin(sha256: [UInt8](repeating: 0, count: 32))
        #expect(pin == PublicKeyPin(String(repeating: "0", count: 64)))
    }
}
