package import Transport

/// A recognized answer. Cases are tried in order (section 5).
package enum PydioAnswer<Value: Sendable>: Sendable {
    /// The server requires a login.
    case notAuthorized
    /// The server's error message.
    case serverError(PydioError)
    /// The requested value.
    case value(Value)
    /// Anything else.
    case unexpected(PydioError)
}

/// Recognizes the answer to one kind of request.
package struct AnswerRecogniser<Value: Sendable>: Sendable {
    package enum Match: Sendable {
        case value(Value)
        /// The server's own error message, as text instead of a document.
        case serverError(String)
        /// The answer is of the right kind, but lacks the value.
        case incomplete
        /// The answer of servers for an operation that they don't offer, or not for this user. The text completes "the
        /// server cannot".
        case unsupported(String)
        /// The answer is something else.
        case other
    }

    /// The requested object, for messages.
    private let subject: String
    /// The operation, if not every server has it: those without it send an empty answer.
    private let operation: OptionalOperation?
    private let match: @Sendable (AnswerBody) -> Match

    package init(
        _ subject: String, of operation: OptionalOperation? = nil,
        _ match: @escaping @Sendable (AnswerBody) -> Match
    ) {
        self.subject = subject
        self.operation = operation
        self.match = match
    }

    /// - Parameter secrets: The texts that no error may quote.
    package func read(
        _ response: HTTPResponse, limits: XMLLimits = XMLLimits(), secrets: [String] = []
    ) -> PydioAnswer<Value> {
        read(AnswerBody(response, limits: limits), secrets: secrets)
    }

    package func read(_ body: AnswerBody, secrets: [String] = []) -> PydioAnswer<Value> {
        if body.status == 401 || body.isNotAuthorized { return .notAuthorized }
        guard (200..<300).contains(body.status) else { return .unexpected(.status(of: body, to: subject, secrets)) }
        if let message = body.errorMessage { return .serverError(.server(message, secrets)) }
        if let operation, body.isBlank { return .unexpected(.unsupported(operation)) }
        switch match(body) {
        case .value(let value): return .value(value)
        case .serverError(let message): return .serverError(.server(message, secrets))
        case .incomplete: return .unexpected(.incomplete(body, to: subject, secrets))
        case .unsupported(let operation): return .unexpected(.unsupportedOperation(operation))
        case .other:
            if case .failure(let failure) = body.document {
                return .unexpected(.unreadable(failure, body, to: subject))
            }
            if let message = body.pageError { return .serverError(.server(message, secrets)) }
            return .unexpected(.notExpected(body, to: subject, secrets))
        }
    }

    /// Returns a recognizer for a transformed value.
    package func map<New: Sendable>(_ transform: @escaping @Sendable (Value) -> New) -> AnswerRecogniser<New> {
        AnswerRecogniser<New>(subject, of: operation) { [match] body in
            switch match(body) {
            case .value(let value): .value(transform(value))
            case .serverError(let message): .serverError(message)
            case .incomplete: .incomplete
            case .unsupported(let operation): .unsupported(operation)
            case .other: .other
            }
        }
    }
}

extension AnswerRecogniser.Match {
    /// Creates a match for a value; if `nil`, the answer is something else.
    package init(_ value: Value?) {
        if let value { self = .value(value) } else { self = .other }
    }
}

extension PydioError {
    static func server(_ message: String, _ secrets: [String]) -> PydioError {
        let words = SafeText.cleaned(message, limit: 1000, without: secrets)
        var error = PydioError(
            .errorResponse, words.isEmpty ? "the server refused without saying why" : "the server says: \(words)")
        error.serverMessage = words
        return error
    }

    static func status(of body: AnswerBody, to subject: String, _ secrets: [String]) -> PydioError {
        let words = body.jsonMessage.map { SafeText.cleaned($0, limit: 120, without: secrets) }
        let meaning =
            (300..<400).contains(body.status)
            ? ": it sends the client elsewhere; the server's address may have changed, or need a login page first"
            : words.map { ": the server says: \($0)" } ?? ""
        var error = PydioError(.http(status: body.status), "status \(body.status) in answer to \(subject)\(meaning)")
        error.describe(body, secrets)
        return error
    }

    static func incomplete(_ body: AnswerBody, to subject: String, _ secrets: [String]) -> PydioError {
        var error = PydioError(.unableToParseAnswer, "what was asked for is not in the answer to \(subject)")
        error.status = body.status
        return error
    }

    static func unreadable(_ failure: XMLReader.Failure, _ body: AnswerBody, to subject: String) -> PydioError {
        var error =
            switch failure {
            case .tooLarge:
                PydioError(.tooLarge, "the document in answer to \(subject) has too many elements or levels")
            case .refused:
                PydioError(
                    .unableToParseAnswer,
                    "the document in answer to \(subject) was not read: it has a document type, instructions or another encoding"
                )
            case .malformed:
                PydioError(.unableToParseAnswer, "the document in answer to \(subject) is damaged or cut off")
            }
        error.status = body.status
        return error
    }

    static func notExpected(_ body: AnswerBody, to subject: String, _ secrets: [String]) -> PydioError {
        let kind = body.isBlank ? "an empty answer" : "something else"
        let type = body.mimeType.isEmpty ? "no type" : SafeText.cleaned(body.mimeType, limit: 60, without: secrets)
        var error = PydioError(
            .receivedNotExpectedAnswer, "\(subject) was answered with \(kind) (\(type), status \(body.status))")
        error.describe(body, secrets)
        return error
    }

    private mutating func describe(_ body: AnswerBody, _ secrets: [String]) {
        status = body.status
        if let message = body.jsonMessage { excerpt = SafeText.cleaned(message, limit: 120, without: secrets) }
        guard body.mimeType == "text/html" || body.mimeType == "text/plain" else { return }
        let words = SafeText.words(ofPage: body.bytes, limit: 120, without: secrets)
        excerpt = words.isEmpty ? nil : words
    }
}
