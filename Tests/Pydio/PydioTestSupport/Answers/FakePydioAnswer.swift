/// An answer of a ``FakePydioServer``.
package struct FakePydioAnswer: Sendable {
    /// The fate of the answer in transit.
    package enum Fate: Sendable, Equatable {
        case arrives
        /// The connection closes after this many bytes of the body, although the full length was announced.
        case cut(after: Int)
        /// The connection closes without an answer.
        case drop
        /// No answer.
        case silence
    }

    enum Body: Sendable {
        case bytes([UInt8])
        case file(StoredFile, Range<Int>)

        var count: Int {
            switch self {
            case .bytes(let bytes): bytes.count
            case .file(_, let range): range.count
            }
        }
    }

    package var status = 200
    package var fields: [(name: String, value: String)]
    var body: Body
    package var delay: Duration = .zero
    package var fate = Fate.arrives

    init(status: Int = 200, type: String?, _ body: Body) {
        (self.status, self.body) = (status, body)
        fields = type.map { [("Content-Type", $0)] } ?? []
    }

    package static func text(
        _ text: String, type: String = "text/plain; charset=UTF-8", status: Int = 200
    ) -> FakePydioAnswer {
        FakePydioAnswer(status: status, type: type, .bytes(Array(text.utf8)))
    }

    package static func xml(_ text: String) -> FakePydioAnswer {
        .text(declaration + text, type: xmlType)
    }

    package static func html(_ text: String, status: Int = 200) -> FakePydioAnswer {
        .text(text, type: "text/html; charset=UTF-8", status: status)
    }

    /// The document of most answers. Servers write the space in its first tag, too.
    static func tree(_ content: String) -> FakePydioAnswer { .xml("<tree >\(content)</tree>") }
    static func tree(_ content: XMLElement...) -> FakePydioAnswer { .tree(content.map(\.xml).joined()) }

    static func json(_ value: JSONValue) -> FakePydioAnswer { .text(value.text, type: "application/json") }

    /// An error of the protocol.
    package static func error(_ text: String) -> FakePydioAnswer {
        .tree(XMLElement("message", [("type", "ERROR")], text: text))
    }

    /// The user is logged in but lacks the right: the message comes first.
    static func refusal(_ text: String) -> FakePydioAnswer {
        .tree(XMLElement("message", [("type", "ERROR")], text: text), XMLElement("require_auth"))
    }

    /// The answer of a download and many other actions without a result.
    package static let empty = html("")

    static let declaration = #"<?xml version="1.0" encoding="UTF-8"?>"#
    static let xmlType = "text/xml; charset=UTF-8"

    package func with(_ fate: Fate) -> FakePydioAnswer {
        var answer = self
        answer.fate = fate
        return answer
    }

    package func with(_ name: String, _ value: String) -> FakePydioAnswer {
        var answer = self
        answer.fields.removeAll { $0.name == name }
        answer.fields.append((name, value))
        return answer
    }

    package func after(_ delay: Duration) -> FakePydioAnswer {
        var answer = self
        answer.delay = delay
        return answer
    }
}
