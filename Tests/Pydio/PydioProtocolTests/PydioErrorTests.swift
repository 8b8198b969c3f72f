import Testing
import Transport

@testable import PydioProtocol

struct PydioErrorTests {
    /// Section 3 of the protocol's notes; a later version replaced 7 by 8.
    @Test func numbersAreThoseOfTheOriginal() {
        let codes: [PydioError.Code] = [
            .unableToParseAnswer, .requireAuthorization, .unableToLogin, .getSeedWithCaptcha, .loginWithCaptcha,
            .errorResponse, .receivedNotExpectedAnswer, .notAZipFileResponse,
        ]
        #expect(codes.map { PydioError($0, "").errorCode } == Array(1...8))
        #expect(PydioError.errorDomain == "PydioErrorDomain")
    }

    @Test func othersHaveNumbersOfTheirOwn() {
        let codes: [PydioError.Code] = [
            .unsupportedServer, .network, .timedOut, .cancelled, .invalidArgument, .tooLarge, .file,
            .unsupportedOperation, .notPermitted, .http(status: 404),
        ]
        #expect(codes.map { PydioError($0, "").errorCode } == Array(100...108) + [404])
    }

    @Test(
        arguments: [
            (.network, true), (.timedOut, true), (.http(status: 428), false), (.http(status: 429), true),
            (.http(status: 430), false), (.http(status: 499), false), (.http(status: 500), true),
            (.http(status: 503), true), (.unableToParseAnswer, false), (.requireAuthorization, false),
            (.errorResponse, false), (.cancelled, false), (.tooLarge, false), (.file, false), (.unableToLogin, false),
        ] as [(PydioError.Code, Bool)])
    func whatMayPassIsWorthAnotherTry(code: PydioError.Code, isRetryable: Bool) {
        #expect(PydioError(code, "").isRetryable == isRetryable)
    }

    /// The answer may have been cut off; a server's refusal stays a refusal.
    @Test(arguments: [(200, true), (299, true), (300, false), (404, false)])
    func anAnswerThatCannotBeReadIsWorthAnotherTryIfItWasASuccess(status: Int, isRetryable: Bool) {
        for code in [PydioError.Code.unableToParseAnswer, .receivedNotExpectedAnswer] {
            var error = PydioError(code, "")
            error.status = status
            #expect(error.isRetryable == isRetryable)
        }
    }

    @Test(
        arguments: [
            ("1", .success), ("2", .loggedOut), ("-1", .refused), ("-3", .noWorkspace), ("-4", .captcha),
            ("-5", .rememberedLoginInvalid), ("-2", .other("-2")), ("", .other("")),
            (String(repeating: "9", count: 30), .other(String(repeating: "9", count: 19) + "…")),
        ] as [(String, PydioLoginResult)])
    func resultsOfALoginAreNamed(value: String, result: PydioLoginResult) {
        #expect(PydioLoginResult(value: value) == result)
    }

    @Test func insteadOfADownloadIsAnErrorOfItsOwn() {
        var error = PydioError(.receivedNotExpectedAnswer, "a page came")
        (error.status, error.excerpt) = (200, "Gateway")
        let instead = error.insteadOfDownload
        #expect(instead.code == .notAZipFileResponse && instead.status == 200 && instead.excerpt == "Gateway")
        #expect(instead.message.hasSuffix("a page came"))
        #expect(PydioError(.network, "x").insteadOfDownload == PydioError(.network, "x"))
    }
}
