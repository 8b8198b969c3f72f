import MatrixProtocol
import Testing

@testable import MatrixSDK

/// How the encryption driver interprets answers.
@Suite struct CryptoDriverTests {
    @Test(
        arguments: [
            ("M_FORBIDDEN", 403, true), ("M_UNKNOWN", 400, true), ("M_TOO_LARGE", 413, true),
            ("M_RESOURCE_LIMIT_EXCEEDED", 403, false), ("M_CONSENT_NOT_GIVEN", 403, false),
            ("M_UNRECOGNIZED", 404, false), ("M_LIMIT_EXCEEDED", 429, false), ("M_UNKNOWN", 500, false),
        ] as [(String, Int, Bool)])
    func whatWillPassIsAskedForAgain(code: String, status: Int, isFinal: Bool) {
        #expect(CryptoDriver.isFinal(MXError(errcode: code, error: "", status: status)) == isFinal)
    }

    /// Proxies send the status without the code.
    @Test func whatIsTooLargeIsKnownByItsStatusToo() {
        #expect(CryptoDriver.code(of: MXError(errcode: "M_UNKNOWN", error: "", status: 413)) == "M_TOO_LARGE")
        #expect(CryptoDriver.code(of: MXError(errcode: "M_FORBIDDEN", error: "", status: 403)) == "M_FORBIDDEN")
        #expect(CryptoDriver.code(of: MatrixError.sessionClosed) == "")
    }
}
