import Basics
public import Foundation
import Transport

/// A request to the REST interface, for what has no call of its own (section 11 of the protocol's notes).
public struct PydioRESTRequest: Sendable, Hashable {
    /// What is to be done.
    public enum Method: String, Sendable, Hashable, CaseIterable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// What is to be done.
    public var method: Method
    /// Behind `api/`, not percent-encoded: `v2/fs/my-files/docs`. A slash at its end is sent; version 2 makes folders by it.
    public var path: String
    /// Go into the address, or of a `POST` without a ``body`` into a form.
    public var parameters: [String: String] = [:]
    /// Header fields besides those that every request has, such as `X-Rename-If-Exists`.
    public var fields: [String: String] = [:]
    /// Sent as it is.
    public var body: Data?
    /// What the body is.
    public var contentType = "application/octet-stream"

    /// See the properties.
    public init(_ method: Method, _ path: String) {
        (self.method, self.path) = (method, path)
    }

    /// Whether it is one of version 2, which servers have from 7 on.
    private var isVersion2: Bool { path.pathSegments.first == "v2" }

    package var request: PydioRequest {
        var request = PydioRequest(
            PydioRequest.Method(rawValue: method.rawValue) ?? .get, "rest", parameters.mapValues { .text($0) })
        request.rest = PydioRequest.REST(
            path: path, fields: fields, body: body.map { (Array($0), contentType) }, isVersion2: isVersion2)
        return request
    }

    package var recogniser: AnswerRecogniser<PydioRESTResponse> {
        AnswerRecogniser("the REST request") { [isVersion2] body in
            // Servers without it take it for one of version 1, and answer that by a document or a page, or with nothing.
            let isOther = body.mimeType == "text/html" || body.mimeType == "text/xml"
            if isVersion2, body.isBlank || isOther, !Download.isDownload(body.head) {
                return .unsupported("answer this request of REST version 2, which begins with version 7")
            }
            if body.isBlank { return .unsupported("answer this request") }
            return .value(
                PydioRESTResponse(
                    status: body.status, contentType: body.mimeType.isEmpty ? nil : body.mimeType,
                    body: Data(body.bytes)))
        }
    }
}

/// What the REST interface answers.
public struct PydioRESTResponse: Sendable, Hashable {
    /// The HTTP status: 200 to 299.
    public let status: Int
    /// In lower case, without parameters; nil if the server doesn't say.
    public let contentType: String?
    /// As it came: JSON as a rule, XML of some of version 1, and files.
    public let body: Data

    /// Whether the body is JSON, as far as the server says.
    public var isJSON: Bool { contentType == "application/json" }
}
