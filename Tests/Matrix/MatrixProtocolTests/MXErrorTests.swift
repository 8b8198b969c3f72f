import Foundation
import JSONBytes
import MatrixProtocol
import Testing

struct MXErrorTests {
    private func parsed(_ body: String, status: Int = 403, retryAfter: String? = nil) -> MXError? {
        MXError(status: status, body: Array(body.utf8), retryAfter: retryAfter)
    }

    @Test func everyFieldIsRead() throws {
        let error = try #require(
            parsed(
                #"{"errcode":"M_LIMIT_EXCEEDED","error":"slowly","retry_after_ms":1500,"soft_logout":true,"x":"y"}"#,
                status: 429))
        #expect(error.errcode == "M_LIMIT_EXCEEDED" && error.error == "slowly" && error.status == 429)
        #expect(error.retryAfter == .milliseconds(1500))
        #expect(error.isSoftLogout)
        #expect(error["x"]?.string == "y")
        #expect(error.userInfo["x"] as? String == "y")
        #expect("\(error)" == "slowly (M_LIMIT_EXCEEDED)")
        #expect(error.localizedDescription.contains("slowly"))
    }

    @Test func aCodeIsEnough() throws {
        let error = try #require(parsed(#"{"errcode":"M_FORBIDDEN"}"#))
        #expect(error.error == "" && error.retryAfter == nil && !error.isSoftLogout)
        #expect("\(error)" == "the homeserver answered M_FORBIDDEN")
    }

    @Test(arguments: ["", "{}", "<html>", #"{"errcode":5}"#, #"["errcode"]"#])
    func whatHasNoCodeIsNoError(body: String) {
        #expect(parsed(body) == nil)
    }

    /// The body takes precedence over the header field; the maximum is a day.
    @Test(
        arguments: [
            ("", "3", .seconds(3)), (#","retry_after_ms":5"#, "3", .milliseconds(5)), ("", "soon", nil), ("", nil, nil),
            (#","retry_after_ms":-5"#, nil, nil), (#","retry_after_ms":-5"#, "3", .seconds(3)), ("", "-3", nil),
            (#","retry_after_ms":0"#, nil, .zero), ("", "86401", .seconds(86_400)),
            (#","retry_after_ms":86400001"#, nil, .seconds(86_400)),
        ] as [(String, String?, Duration?)])
    func whenToTryAgainIsBounded(field: String, header: String?, expected: Duration?) {
        #expect(parsed(#"{"errcode":"M_LIMIT_EXCEEDED"\#(field)}"#, retryAfter: header)?.retryAfter == expected)
    }

    @Test func theServersWordsAreCut() throws {
        let words = String(repeating: "z", count: 499)
        #expect(parsed(#"{"errcode":"M_X","error":"\#(words)yx"}"#)?.error == words + "…")
    }

    @Test func oneThatNoServerGaveHasTheStatusOfABadRequest() {
        let error = MXError(errcode: "M_X", error: "e")
        #expect(error.status == 400 && error.retryAfter == nil && !error.isSoftLogout)
        #expect(error.userInfo.isEmpty)
    }
}
