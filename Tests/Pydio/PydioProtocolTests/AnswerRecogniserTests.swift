import Foundation
import PydioProtocol
import Testing
import Transport

/// Sections 5 and 15 of the protocol's notes.
struct AnswerRecogniserTests {
    enum Request: Sendable {
        case workspaces, ls, mkdir, upload
    }

    /// The result of an answer as text: the numbers are those of the errors.
    private static func outcome(
        _ request: Request, _ body: String, type: String = "text/xml; charset=UTF-8", status: Int = 200
    ) -> String {
        let response = HTTPResponse(status: status, fields: ["Content-Type": type], body: Array(body.utf8))
        return switch request {
        case .workspaces:
            describe(AnswerRecogniser.workspaces.read(response)) { "\($0.map(\.workspaceId))" }
        case .ls:
            describe(AnswerRecogniser.listing.read(response)) { nodes in
                nodes.isEmpty ? "[]" : "\(nodes.map { $0.children?.count ?? 0 })"
            }
        case .mkdir: describe(AnswerRecogniser.success(of: "mkdir").read(response)) { "success \($0.message ?? "")" }
        case .upload: describe(AnswerRecogniser.upload.read(response)) { "success \($0.nodesDiff?.added ?? [])" }
        }
    }

    private static func describe<Value>(_ answer: PydioAnswer<Value>, _ value: (Value) -> String) -> String {
        switch answer {
        case .notAuthorized: "2"
        case .serverError(let error): "\(error.errorCode) \(error.serverMessage ?? "-")"
        case .value(let found): value(found)
        case .unexpected(let error): "\(error.errorCode)"
        }
    }

    private static let authThenMessage = #"<tree><require_auth/><message type="ERROR">x</message></tree>"#
    private static let messageThenAuth = #"<tree><message type="ERROR">x</message><require_auth/></tree>"#
    private static let success = #"<tree><message type="SUCCESS">ok</message></tree>"#
    private static let listing =
        #"<tree filename="" text=""><pagination count="700" total="4" current="1"/><tree filename="/a" text="a"/></tree>"#

    @Test(
        arguments: [
            (.workspaces, "<tree><require_auth/></tree>", "2"), (.ls, "<tree ><require_auth/></tree>", "2"),
            (.mkdir, "<tree><require_auth/></tree>", "2"), (.upload, "<tree><require_auth/></tree>", "2"),
            (.ls, authThenMessage, "2"), (.ls, messageThenAuth, "6 x"), (.workspaces, messageThenAuth, "6 x"),
            (.workspaces, #"<ajxp_registry_part xPath="user/repositories" > </ajxp_registry_part>"#, "2"),
            (.ls, #"<ajxp_registry_part xPath="user/repositories"/>"#, "2"),
            (.workspaces, #"<ajxp_registry_part xPath="user/active_repo"/>"#, "7"),
            (.workspaces, #"<ajxp_registry_part xPath="user/repositories" a="b"/>"#, "7"),
            (.workspaces, #"<ajxp_registry_part xPath="user/repositories"><repositories/></ajxp_registry_part>"#, "[]"),
            (.workspaces, #"<ajxp_registry_part xPath="plugins"><plugins/></ajxp_registry_part>"#, "7"),
            (.workspaces, listing, "7"), (.mkdir, success, "success ok"), (.ls, success, "7"),
            (.mkdir, "<tree/>", "7"), (.mkdir, listing, "7"),
            (.mkdir, #"<other><message type="SUCCESS">ok</message></other>"#, "7"), (.ls, "<tree/>", "[]"),
            (.ls, "<tree ></tree>", "[]"),
            (.ls, listing, "[1]"), (.ls, #"<tree filename=""><tree text="a"/></tree>"#, "7"),
            (.upload, #"<tree><nodes_diff><add><tree filename="/b"/></add></nodes_diff></tree>"#, "success [/b]"),
            (.upload, #"<tree><nodes_diff><update><tree filename="/b"/></update></nodes_diff></tree>"#, "success []"),
            (.upload, "<tree/>", "6 nothing of the upload has arrived"), (.ls, "<tree", "1"), (.ls, "", "1"),
            (.ls, "<!DOCTYPE a><tree/>", "1"),
        ] as [(Request, String, String)])
    func documentsAreRecognised(request: Request, document: String, expected: String) {
        #expect(Self.outcome(request, document) == expected)
    }

    @Test(
        arguments: [
            (.upload, "text/html", "dir not writeable (412)", "6 dir not writeable (412)"),
            (.upload, "text/html", "", "7"), (.upload, "text/html", "<b>x</b> (412)", "7"),
            (.ls, "text/html", "<html><body>Gateway</body></html>", "7"),
            (.mkdir, "text/html", "<tree><require_auth/></tree>", "7"), (.ls, "text/plain", "x", "7"),
            (.ls, "application/xml", "<tree><require_auth/></tree>", "2"),
            (.ls, "TEXT/XML", "<tree><require_auth/></tree>", "2"), (.ls, "", "<tree/>", "7"),
        ] as [(Request, String, String, String)])
    func theTypeDecidesWhetherItIsADocument(request: Request, type: String, body: String, expected: String) {
        #expect(Self.outcome(request, body, type: type) == expected)
    }

    @Test(
        arguments: [
            ("text/plain", "The file was saved.", "success The file was saved."), ("text/plain", " \n", "7"),
            ("text/html", "", "7"), ("text/html", "Bad gateway", "7"),
            ("text/plain", "1001", "6 the file is not writeable (1001)"),
        ] as [(String, String, String)])
    func newContentIsAcknowledgedInPlainText(type: String, body: String, expected: String) {
        let response = HTTPResponse(status: 200, fields: ["Content-Type": type], body: Array(body.utf8))
        let answer = AnswerRecogniser.putContent.read(response)
        #expect(Self.describe(answer) { "success \($0.message ?? "")" } == expected)
    }

    /// An upload error is a short text with a number, not a page.
    @Test(
        arguments: [
            ("text/plain", "no space left (507)", "6 no space left (507)"), ("application/json", "no (507)", "7"),
            ("text/plain", "no (50)", "7"), ("text/plain", "no (507) more", "7"),
            (
                "text/plain", String(repeating: "x", count: 1993) + " (507)",
                "6 " + String(repeating: "x", count: 999) + "…"
            ),
            ("text/plain", String(repeating: "x", count: 1994) + " (507)", "7"),
        ])
    func whyAnUploadWasRefusedIsShortText(type: String, body: String, expected: String) {
        #expect(Self.outcome(.upload, body, type: type) == expected)
    }

    @Test(
        arguments: [
            ("text/xml", "<tree/>", "1"), ("application/json", #"{"a":1}"#, #"success {"a":1}"#),
            ("text/html", "[]", "success []"), ("text/plain", "none", "7"), ("text/plain", "", "7"),
        ])
    func JSONIsTakenWhateverItCallsItself(type: String, body: String, expected: String) {
        let response = HTTPResponse(status: 200, fields: ["Content-Type": type], body: Array(body.utf8))
        let answer = AnswerRecogniser.json(of: "the call").read(response)
        let outcome = Self.describe(answer) { "success \(String(decoding: $0, as: UTF8.self))" }
        #expect(outcome == (type == "text/xml" ? "7" : expected))
    }

    /// The type that an answer is converted to does not affect its recognition.
    @Test(
        arguments: [
            ("application/json", "[]", "nothing"), ("application/json", #"{"dev":1}"#, "1"),
            ("application/json", #"{"size":5,"mode":33188,"mtime":7}"#, "something"), ("text/plain", "x", "7"),
            ("text/xml", #"<tree><message type="ERROR">x</message></tree>"#, "6 x"),
        ])
    func anotherValueIsRecognisedAlike(type: String, body: String, expected: String) {
        let response = HTTPResponse(status: 200, fields: ["Content-Type": type], body: Array(body.utf8))
        let answer = AnswerRecogniser.stat.map { $0 == nil ? "nothing" : "something" }.read(response)
        #expect(Self.describe(answer) { $0 } == expected)
        let incomplete = AnswerRecogniser<Int>("the call") { _ in .incomplete }.map { "\($0)" }.read(response)
        if type == "text/plain" { #expect(Self.describe(incomplete) { $0 } == "1") }
        let refused = AnswerRecogniser<Int>("the call") { _ in .serverError("no") }.map { "\($0)" }.read(response)
        if type == "text/plain" { #expect(Self.describe(refused) { $0 } == "6 no") }
    }

    @Test(
        arguments: [
            (#"<tree><message type="SUCCESS">ok</message></tree>"#, "success ok"), ("<tree/>", "success -"),
            (#"<other><message type="SUCCESS">ok</message></other>"#, "7"), (" ", "success -"),
        ])
    func anOperationMaySucceedInSilence(body: String, expected: String) {
        let response = HTTPResponse(
            status: 200, fields: ["Content-Type": body.hasPrefix("<") ? "text/xml" : "text/html"],
            body: Array(body.utf8))
        let answer = AnswerRecogniser.successOrNothing(of: "the call").read(response)
        #expect(Self.describe(answer) { "success \($0.message ?? "-")" } == expected)
    }

    @Test(arguments: [
        ("https://s/public/abc", "https://s/public/abc"), (" http://s:8080/a?b=c \n", "http://s:8080/a?b=c"),
        ("100", "6 no link can be made (100)"), ("123456789", "6 no link can be made (123456789)"),
        ("1234567890", "7"), ("", "7"), ("https://s/a b", "7"), ("https://s/<b>", "7"), ("https://s/\u{7F}a", "7"),
        ("<html>no</html>", "7"), ("ftp://s/a", "7"), ("https:///a", "7"), ("no link", "7"),
    ])
    func aPublicLinkIsAnAddressAndNothingElse(body: String, expected: String) {
        let response = HTTPResponse(status: 200, fields: ["Content-Type": "text/html"], body: Array(body.utf8))
        #expect(Self.describe(AnswerRecogniser.publicLink.read(response)) { $0.absoluteString } == expected)
    }

    @Test func aPublicLinkIsNoDocument() {
        let response = HTTPResponse(status: 200, fields: ["Content-Type": "text/xml"], body: Array("<tree/>".utf8))
        #expect(Self.describe(AnswerRecogniser.publicLink.read(response)) { $0.absoluteString } == "7")
    }

    @Test(arguments: [(401, "2"), (302, "302"), (404, "404"), (500, "500")] as [(Int, String)])
    func otherStatusesAreErrors(status: Int, expected: String) {
        #expect(Self.outcome(.ls, Self.listing, status: status) == expected)
    }

    @Test func excerptsAreShortTextWithoutMarkupAndSecrets() {
        let page = """
            <html><head><style>p {}</style><script>alert('x')</script></head><body>Bad\u{7}gateway for tok3n
            &amp; <b>hunter2</b> \(String(repeating: "é", count: 200))</body></html>
            """
        let response = HTTPResponse(status: 502, fields: ["Content-Type": "text/html"], body: Array(page.utf8))
        guard case .unexpected(let error) = AnswerRecogniser.listing.read(response, secrets: ["tok3n", "hunter2"])
        else {
            Issue.record("it is an error")
            return
        }
        #expect(error.status == 502 && error.code == .http(status: 502))
        #expect(error.excerpt?.hasPrefix("Bad\u{FFFD}gateway for … &amp; … éé") == true && error.excerpt?.count == 120)
        #expect(!String(reflecting: error).contains("hunter2") && !error.message.contains("tok3n"))
    }

    @Test func bytesAreNotQuoted() {
        let response = HTTPResponse(
            status: 200, fields: ["Content-Type": "image/png"], body: Array("secret pixels".utf8))
        guard case .unexpected(let error) = AnswerRecogniser.listing.read(response) else {
            Issue.record("it is an error")
            return
        }
        #expect(error.excerpt == nil && !error.message.contains("secret"))
    }

    @Test func serverMessagesAreCleaned() {
        let text = "  Zeile 1&#10;Zeile\u{202E} 2 pw123 " + String(repeating: "x", count: 2000)
        let response = HTTPResponse(
            status: 200, fields: ["Content-Type": "text/xml"],
            body: Array(#"<tree><message type="ERROR">\#(text)</message></tree>"#.utf8))
        guard case .serverError(let error) = AnswerRecogniser.listing.read(response, secrets: ["pw123"]) else {
            Issue.record("it is an error")
            return
        }
        #expect(error.serverMessage?.hasPrefix("Zeile 1 Zeile\u{FFFD} 2 … xx") == true)
        #expect(error.serverMessage?.count == 1000)
    }
}
