import Testing
import Transport

struct HTTPRequestTests {
    /// RFC 9110, section 9.2.2.
    @Test(
        arguments: [
            ("GET", true), ("HEAD", true), ("PUT", true), ("DELETE", true), ("POST", false), ("PATCH", false),
        ])
    func onlyWhatAServerMayGetTwiceIsSafeToRepeat(method: String, isSafe: Bool) {
        #expect(HTTPRequest(method: method, url: "https://h/").isSafeToRepeat == isSafe)
    }
}
