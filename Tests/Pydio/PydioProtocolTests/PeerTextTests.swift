import Foundation
import PydioProtocol
import TestSupport
import Testing
import Transport

/// Hostile text in any field of a server's answer is never copied verbatim to an error.
struct PeerTextTests {
    private func expectFit(_ lines: [String?], sourceLocation: SourceLocation = #_sourceLocation) {
        for line in lines.compactMap(\.self) where !HostileText.flaws(in: line).isEmpty {
            Issue.record(
                "\(HostileText.flaws(in: line)) in \(line.prefix(300).debugDescription)",
                sourceLocation: sourceLocation)
        }
    }

    private func expectFit(_ error: PydioError, sourceLocation: SourceLocation = #_sourceLocation) {
        expectFit(
            ["\(error)", error.message, error.serverMessage, error.excerpt, error.localizedDescription],
            sourceLocation: sourceLocation)
        if case .other(let value) = error.loginResult { expectFit([value], sourceLocation: sourceLocation) }
    }

    private func expectFit<Value>(_ answer: PydioAnswer<Value>) {
        switch answer {
        case .notAuthorized: break
        case .serverError(let error), .unexpected(let error): expectFit(error)
        case .value(let value):
            if let value = value as? PydioSuccessResponse { expectFit([value.message]) }
        }
    }

    /// As far as XML can represent it.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x9, 0xA, 0xD, 0x20..<0xD800: result += "&#\(scalar.value);"
            case 0xE000...: result.unicodeScalars.append(scalar)
            default: break
            }
        }
        return result
    }

    @Test(arguments: HostileText.all, ["text/xml", "text/html", "application/json"])
    func anAnswer(text: String, type: String) {
        let text = String(String.UnicodeScalarView(text.unicodeScalars.prefix(5000)))
        let xml = Self.escaped(text)
        for body in [
            #"<tree><message type="ERROR">\#(xml)</message></tree>"#,
            #"<tree><message type="SUCCESS">\#(xml)</message></tree>"#, #"<tree><\#(xml)/></tree>"#,
            "<html><title>\(text)</title><script>displayMessage('ERROR', '\(text)');</script></html>", text,
            #"{"error":\#(HostileText.json(text)),"message":\#(HostileText.json(text))}"#,
        ] {
            for status in [200, 302, 500] {
                let response = HTTPResponse(
                    status: status, fields: ["Content-Type": type], body: Array(body.utf8))
                let odd = HTTPResponse(status: status, fields: ["Content-Type": text], body: Array(body.utf8))
                for response in [response, odd] {
                    expectFit(AnswerRecogniser.workspaces.read(response))
                    expectFit(AnswerRecogniser.listing.read(response))
                    expectFit(AnswerRecogniser.success(of: "mkdir").read(response))
                    expectFit(AnswerRecogniser.upload.read(response))
                    expectFit(AnswerRecogniser.putContent.read(response))
                    expectFit(AnswerRecogniser.captcha.read(response))
                    expectFit(AnswerRecogniser.stat.read(response))
                    expectFit(AnswerRecogniser.json(of: "x").read(response))
                    expectFit(AnswerRecogniser.changes(after: 1).read(response))
                    expectFit(AnswerRecogniser.searchResults.read(response))
                    expectFit(AnswerRecogniser.statWithHash.read(response))
                    expectFit(AnswerRecogniser.done(.locks).read(response))
                    expectFit(AnswerRecogniser.quota.read(response))
                    expectFit(AnswerRecogniser.comments.read(response))
                    expectFit(AnswerRecogniser.comment.read(response))
                    expectFit(AnswerRecogniser.activities.read(response))
                }
            }
        }
    }

    @Test func anErrorThatAProgramMakes() {
        expectFit(PydioError(.file, HostileText.all.joined()))
    }
}

/// A number of any size in place of a time or a count causes no crash.
struct LongTimesTests {
    @Test(arguments: [
        "1e300", "-1e300", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e19", "-1", "0.5",
        "inf",
        "nan", "", "x",
    ])
    func aNumberOfAServer(number: String) {
        func response(_ body: String, _ type: String = "text/xml") -> HTTPResponse {
            HTTPResponse(
                status: 200, fields: ["Content-Type": type, "Set-Cookie": "a=b; Max-Age=\(number)"],
                body: Array(body.utf8))
        }
        let tree = #"""
            <tree filename="/a" is_file="true" bytesize="\#(number)" ajxp_modiftime="\#(number)">
            <pagination count="\#(number)" total="\#(number)" current="\#(number)"/></tree>
            """#
        guard case .value(let nodes) = AnswerRecogniser.listing.read(response(tree)) else {
            Issue.record("the listing was not read")
            return
        }
        #expect(nodes.first?.fullPath == "/a")
        for number in [number, "\"\(number)\""] {
            let row = #"""
                {"seq":\#(number),"node_id":\#(number),"type":"create","source":"NULL","target":"/a","node":
                {"bytesize":\#(number),"md5":"x","mtime":\#(number),"node_path":"/a"}}
                """#
            _ = AnswerRecogniser.changes(after: 1).read(response("\(row)\nLAST_SEQ:\(number)", "application/json"))
            _ = AnswerRecogniser.stat.read(
                response(#"{"size":\#(number),"mtime":\#(number),"mode":\#(number)}"#, "application/json"))
        }
    }
}
