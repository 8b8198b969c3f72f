import Foundation
import PydioProtocol
import Testing
import Transport

/// Answers of features that only some servers have.
struct NodeRecogniserTests {
    private static func response(
        _ body: String, _ type: String = "text/xml; charset=UTF-8", status: Int = 200
    ) -> HTTPResponse {
        HTTPResponse(status: status, fields: ["Content-Type": type], body: Array(body.utf8))
    }

    private static func code<Value>(_ answer: PydioAnswer<Value>) -> PydioError.Code? {
        switch answer {
        case .serverError(let error), .unexpected(let error): error.code
        case .notAuthorized: .requireAuthorization
        case .value: nil
        }
    }

    @Test(arguments: ["", " \n"])
    func anEmptyAnswerIsWhatServersSayThatDoNotHaveIt(body: String) {
        let empty = Self.response(body, "text/html; charset=UTF-8")
        #expect(Self.code(AnswerRecogniser.searchResults.read(empty)) == .unsupportedOperation)
        #expect(Self.code(AnswerRecogniser.statWithHash.read(empty)) == .unsupportedOperation)
        #expect(Self.code(AnswerRecogniser.quota.read(empty)) == .unsupportedOperation)
        #expect(Self.code(AnswerRecogniser.comments.read(empty)) == .unsupportedOperation)
        #expect(Self.code(AnswerRecogniser.comment.read(empty)) == .unsupportedOperation)
        for operation in OptionalOperation.allCases {
            #expect(Self.code(AnswerRecogniser.done(operation).read(empty)) == .unsupportedOperation)
        }
        // Every server has these actions.
        #expect(Self.code(AnswerRecogniser.success(of: "mkdir").read(empty)) == .receivedNotExpectedAnswer)
        #expect(Self.code(AnswerRecogniser.stat.read(empty)) == .receivedNotExpectedAnswer)
        let failed = Self.response(body, status: 500)
        #expect(Self.code(AnswerRecogniser.quota.read(failed)) == .http(status: 500))
    }

    @Test(arguments: [
        #"<tree ><message type="SUCCESS">ok</message></tree>"#,
        #"<tree ><nodes_diff><update><tree filename="/a"/></update></nodes_diff></tree>"#,
        #"<tree ><reload_instruction object="data" node="" file=""/></tree>"#,
    ])
    func whatIsDoneIsToldInOneOfThreeWays(body: String) {
        #expect(Self.code(AnswerRecogniser.done(.locks).read(Self.response(body))) == nil)
    }

    @Test(arguments: ["<tree ></tree>", "<other><a/></other>", "<ajxp_registry_part/>"])
    func otherDocumentsAreNoSuccess(body: String) {
        #expect(Self.code(AnswerRecogniser.done(.locks).read(Self.response(body))) == .receivedNotExpectedAnswer)
    }

    @Test func quotasComeInAllFormsOfNumbers() {
        func quota(_ body: String) -> PydioQuota? {
            guard case .value(let quota) = AnswerRecogniser.quota.read(Self.response(body, "application/json")) else {
                return nil
            }
            return quota
        }
        #expect(quota(#"{"USAGE":12,"TOTAL":"1000"}"#) == PydioQuota(used: 12, total: 1000))
        #expect(quota(#"{"USAGE":"12.0","TOTAL":1.5e3}"#) == nil)
        #expect(quota(#"{"USAGE":1.5e3,"TOTAL":0}"#) == PydioQuota(used: 1500, total: nil))
        for total in ["null", "false", "\"\"", "-1", "\"2G\""] {
            #expect(quota(#"{"USAGE":-3,"TOTAL":\#(total)}"#) == PydioQuota(used: 0, total: nil))
        }
        for body in ["{}", "[]", "12", #"{"TOTAL":1}"#, "<html/>"] { #expect(quota(body) == nil) }
    }

    @Test func commentsThatCannotBeUnderstoodAreLeftOut() {
        let body = #"{"0":{"author":"a","content":"x","date":1},"1":{"author":"b"},"2":"c","3":null}"#
        guard case .value(let comments) = AnswerRecogniser.comments.read(Self.response(body, "application/json")) else {
            Issue.record("the comments were not read")
            return
        }
        #expect(comments.map(\.author) == ["a"] && comments.first?.date == Date(timeIntervalSince1970: 1))
        #expect(comments.first?.identity == #"{"author":"a","content":"x","date":1}"#)
    }

    @Test func anActivityIsWhereItsNodeReallyIs() {
        let body = #"""
            <tree><tree filename="/notification_1" real_path="/a/b" event_time="12" event_author="ada" repository_id="0"
            event_description_long="b was made"/><tree text="without a path"/></tree>
            """#
        guard case .value(let activities?) = AnswerRecogniser.activities.read(Self.response(body)) else {
            Issue.record("the feed was not read")
            return
        }
        #expect(activities.map(\.path) == ["/a/b"] && activities.first?.summary == "b was made")
    }

    @Test func actionsAreFoundWhereverTheyAre() {
        let action = XMLNode("action", attributes: ["name": "search"])
        let part = XMLNode("ajxp_registry_part", children: [XMLNode("actions", children: [action, XMLNode("action")])])
        #expect(part.actionNames == ["search"])
    }
}
