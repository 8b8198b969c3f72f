package import JSONBytes
import MatrixProtocol

/// A request to a ``FakeHomeserver``.
package struct FakeRequest: Sendable {
    package let method: String
    /// As sent: percent-encoded.
    package let rawPath: String
    /// Pieces of the path, decoded.
    package let path: [String]
    /// Decoded; repeated parameters keep their order.
    package let query: [(name: String, value: String)]
    package let fields: [(name: String, value: String)]
    /// The first ``keptBytes`` of the body.
    package let body: [UInt8]
    /// The size of the whole body.
    package let bodySize: Int

    package static let keptBytes = 4 << 20

    package func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }
    package func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
    package var json: JSONView? { JSONView(body) }
    /// The access token.
    package var token: String? {
        field("Authorization").flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
    }
}

/// An answer of a ``FakeHomeserver``, and its fault.
package struct FakeAnswer: Sendable {
    package enum Fault: Sendable {
        /// No fault.
        case none
        /// The connection closes after this many bytes of the body, although the full length was announced.
        case cut(after: Int)
        /// The connection closes without an answer.
        case drop
        /// No answer.
        case silence
    }

    package var status = 200
    package var fields: [(name: String, value: String)] = [("Content-Type", "application/json")]
    package var body: [UInt8] = []
    package var delay: Duration = .zero
    /// Whether the answer is still held back; called repeatedly.
    package var isHeld: (@Sendable () -> Bool)?
    package var fault = Fault.none

    package init(status: Int = 200, body: [UInt8] = []) {
        (self.status, self.body) = (status, body)
    }

    package static func json(_ text: String, status: Int = 200) -> FakeAnswer {
        FakeAnswer(status: status, body: Array(text.utf8))
    }

    /// An error of the protocol.
    package static func error(_ status: Int, _ errcode: String, _ more: String = "") -> FakeAnswer {
        .json(
            #"{"errcode":"\#(errcode)","error":"said by the server"\#(more.isEmpty ? "" : ",")\#(more)}"#,
            status: status)
    }

    /// The access token has expired or is unknown.
    package static func unknownToken(softLogout: Bool = true) -> FakeAnswer {
        .error(401, "M_UNKNOWN_TOKEN", #""soft_logout":\#(softLogout)"#)
    }

    /// A sync request names an unknown point of the stream.
    package static var unknownSyncToken: FakeAnswer {
        .json(#"{"errcode":"M_UNKNOWN","error":"Invalid stream token"}"#, status: 400)
    }

    /// Too many requests.
    package static func limited(milliseconds: Int) -> FakeAnswer {
        .error(429, "M_LIMIT_EXCEEDED", #""retry_after_ms":\#(milliseconds)"#)
    }

    /// A proxy's page.
    package static func page(_ status: Int) -> FakeAnswer {
        var answer = FakeAnswer(status: status, body: Array("<html><body>\(status) Bad Gateway</body></html>".utf8))
        answer.fields = [("Content-Type", "text/html")]
        return answer
    }

    package static func redirect(to url: String, status: Int = 307) -> FakeAnswer {
        var answer = FakeAnswer(status: status)
        answer.fields = [("Location", url)]
        return answer
    }

    package static let unrecognized = error(404, "M_UNRECOGNIZED")
    package static let ok = json("{}")
    package static let drop = ok.with(.drop)
    package static let silence = ok.with(.silence)

    package func with(_ fault: Fault) -> FakeAnswer {
        var answer = self
        answer.fault = fault
        return answer
    }

    package func with(_ name: String, _ value: String) -> FakeAnswer {
        var answer = self
        answer.fields.removeAll { $0.name == name }
        answer.fields.append((name, value))
        return answer
    }

    package func after(_ delay: Duration) -> FakeAnswer {
        var answer = self
        answer.delay = delay
        return answer
    }

    package func held(while isHeld: @escaping @Sendable () -> Bool) -> FakeAnswer {
        var answer = self
        answer.isHeld = isHeld
        return answer
    }
}
