import Foundation

/// A request to a ``FakePydioServer``.
package struct FakePydioRequest: Sendable {
    package let method: String
    /// As sent: percent-encoded, without the query.
    package let rawPath: String
    package let query: FormParameters
    /// Whether the address has a question mark.
    var hasQuery: Bool { !query.pairs.isEmpty }
    /// The parameters of a form, or of a multipart body without its file.
    package let form: FormParameters
    package let fields: [(name: String, value: String)]
    /// By name.
    package let cookies: [String: String]
    /// The file of a multipart body, or the whole body of a `PUT`.
    let upload: UploadedFile?
    /// The size of the body in bytes.
    package let bodySize: Int
    /// The peer's address; failed logins are counted per address.
    let address: String

    /// Query and form; the form takes precedence.
    package var parameters: FormParameters { query.merged(with: form) }
    package func parameter(_ name: String) -> String? { parameters[name] }
    package func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
    /// `get_action` or its other name; for REST, the action in the path.
    package var action: String? {
        if let pieces = restPieces {
            guard pieces.first == "v2" else { return pieces.dropFirst(1).first }
            return pieces.count == 5 && pieces[1] == "workspaces" ? pieces[3] : pieces.prefix(2).joined(separator: "/")
        }
        return parameter("get_action") ?? parameter("action")
    }
    package var token: String? { parameter("secure_token") }
    /// The session cookie.
    package var session: String? { cookies[SessionTable.cookieName] }
    /// The size of the uploaded file in bytes.
    package var uploadSize: Int? { upload?.size }

    /// The decoded pieces of the path after `/api/`, the first of which is the workspace.
    var restPieces: [String]? {
        guard let start = rawPath.ranges(of: "/api/").first else { return nil }
        return rawPath[start.upperBound...].split(separator: "/").map(\.urlDecoded)
    }

    /// The shortened form to remember.
    var abridged: FakePydioRequest {
        FakePydioRequest(
            method: method, rawPath: rawPath, query: query.abridged, form: form.abridged, fields: fields,
            cookies: cookies,
            upload: upload.map { UploadedFile(name: $0.name, part: $0.part, size: $0.size, file: nil) },
            bodySize: bodySize, address: address)
    }
}

/// An uploaded file.
struct UploadedFile: Sendable {
    let name: String
    /// The name of the part.
    let part: String
    let size: Int
    /// `nil` once it was taken.
    let file: StoredFile?
}
