import Basics
public import Foundation
import Transport

/// A request to the REST interface, for operations without a dedicated call (section 11 of the protocol's notes).
public struct PydioRESTRequest: Sendable, Hashable {
    /// The HTTP method.
    public enum Method: String, Sendable, Hashable, CaseIterable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// The HTTP method.
    public var method: Method
    /// The path after `api/`, not percent-encoded: `v2/fs/my-files/docs`. A trailing slash is sent; in version 2 it
    /// creates folders.
    public var path: String
    /// The parameters, sent in the URL, or in a form for a `POST` without a ``body``.
    public var parameters: [String: String] = [:]
    /// Additional header fields, such as `X-Rename-If-Exists`.
    public var fields: [String: String] = [:]
    /// The body, sent unchanged.
    public var body: Data?
    /// The type of the body.
    public var contentType = "application/octet-stream"

    /// Creates an instance with the given properties.
    public init(_ method: Method, _ path: String) {
        (self.method, self.path) = (method, path)
    }

    /// Whether it belongs to version 2 of the interface, which servers have from version 7 on.
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
            // Servers without version 2 interpret it as version 1, and send a document, a page, or nothing.
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

/// An answer of the REST interface.
public struct PydioRESTResponse: Sendable, Hashable {
    /// The HTTP status: 200 to 299.
    public let status: Int
    /// The type in lower case, without parameters; `nil` if the server doesn't declare one.
    public let contentType: String?
    /// The body as received: usually JSON, XML for some requests of version 1, and files.
    public let body: Data

    /// Whether the server declares the body as JSON.
    public var isJSON: Bool { contentType == "application/json" }
}
