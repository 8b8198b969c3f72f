import PydioSDK
import Testing

struct PydioErrorTests {
    /// Section 3 of the protocol's notes; 8 is what a later version put in the place of 7.
    @Test func numbersAreThoseOfTheOriginal() {
        let codes: [PydioError.Code] = [
            .unableToParseAnswer, .requireAuthorization, .unableToLogin, .getSeedWithCaptcha, .loginWithCaptcha,
            .errorResponse, .receivedNotExpectedAnswer, .notAZipFileResponse,
        ]
        #expect(codes.map { PydioError($0, "").errorCode } == Array(1...8))
        #expect(PydioError.errorDomain == "PydioErrorDomain")
    }
}
