extension FakePydioServer {
    /// A fault of a request.
    package enum Fault: Sendable {
        // Replaces the answer; the request is not carried out.

        /// A proxy's page with this status.
        case htmlPage(Int = 200)
        /// 200 with an empty body.
        case emptyBody
        /// A status with an empty body.
        case status(Int)
        /// The page of a failing PHP, with a script that shows an error; 200.
        case scriptError
        /// 302 to a page that asks for a name and password.
        case loginRedirect
        /// Meaningless bytes, sent as XML.
        case garbage
        /// An error of the protocol.
        case errorDocument(String)
        /// As if the client were not logged in.
        case requireAuth
        case drop
        case silence

        // The request is carried out, but the answer is wrong.

        /// Half of the document, with a matching length.
        case truncated
        /// The connection closes after this many bytes of the body, although the full length was announced.
        case cut(after: Int)
        case slow(Duration)
        /// Another `Content-Type`.
        case contentType(String)
        /// Sent after ``FakePydioServer/release()``.
        case hold
    }
}

/// Pending faults.
struct FaultTable: Sendable {
    private struct Entry: Sendable {
        /// `nil` for every action.
        let action: String?
        let fault: FakePydioServer.Fault
        var skipped: Int
        /// `nil` for all that follow.
        var left: Int?
    }

    private var entries: [Entry] = []

    mutating func add(_ fault: FakePydioServer.Fault, to action: String?, times: Int?, after skipped: Int) {
        entries.append(Entry(action: action, fault: fault, skipped: skipped, left: times))
    }

    mutating func clear() { entries = [] }

    /// Removes and returns the fault for a request.
    mutating func take(_ action: String?) -> FakePydioServer.Fault? {
        for index in entries.indices where entries[index].action == nil || entries[index].action == action {
            if entries[index].skipped > 0 {
                entries[index].skipped -= 1
                continue
            }
            let fault = entries[index].fault
            if let left = entries[index].left {
                entries[index].left = left - 1
                if left <= 1 { entries.remove(at: index) }
            }
            return fault
        }
        return nil
    }
}

extension FakePydioServer.Fault {
    /// The answer to send instead; `nil` to carry out the request.
    func replacement(basePath: String) -> FakePydioAnswer? {
        switch self {
        case .htmlPage(let status):
            .html("<html><head><title>Gateway</title></head><body><h1>\(status)</h1></body></html>", status: status)
        case .emptyBody: .empty
        case .status(let status): .html("", status: status)
        case .scriptError:
            .html(
                "<script language=\"javascript\">if(parent.ajaxplorer.getMainForm) "
                    + "parent.ajaxplorer.displayMessage('ERROR', 'Cannot write to the folder');</script>")
        case .loginRedirect: .html("", status: 302).with("Location", basePath + ServerState.loginPage)
        case .garbage:
            FakePydioAnswer(
                type: FakePydioAnswer.xmlType, .bytes((0..<512).map { UInt8(truncatingIfNeeded: $0 * 7 + 0x80) }))
        case .errorDocument(let text): .error(text)
        case .requireAuth: .tree(XMLElement("require_auth"))
        case .drop: FakePydioAnswer.empty.with(.drop)
        case .silence: FakePydioAnswer.empty.with(.silence)
        case .truncated, .cut, .slow, .contentType, .hold: nil
        }
    }

    /// The answer as it is sent.
    func applied(to answer: FakePydioAnswer) -> FakePydioAnswer {
        switch self {
        case .truncated:
            var half = answer
            switch answer.body {
            case .bytes(let bytes): half.body = .bytes(Array(bytes.prefix(bytes.count / 2)))
            case .file(let file, let range): half.body = .file(file, range.prefix(range.count / 2))
            }
            half.fields.removeAll { $0.name == "Content-Length" }
            return half
        case .cut(let count): return answer.with(.cut(after: count))
        case .slow(let delay): return answer.after(delay)
        case .contentType(let type): return answer.with("Content-Type", type)
        case .htmlPage, .emptyBody, .status, .scriptError, .loginRedirect, .garbage, .errorDocument, .requireAuth,
            .drop,
            .silence, .hold:
            return answer
        }
    }

    var isHold: Bool { if case .hold = self { true } else { false } }
}
