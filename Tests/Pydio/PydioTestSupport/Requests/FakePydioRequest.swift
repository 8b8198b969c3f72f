import Foundation

/// What a ``FakePydioServer`` was asked.
package struct FakePydioRequest: Sendable {
    package let method: String
    /// As sent: percent-encoded, without the query.
    package let rawPath: String
    package let query: FormParameters
    /// Whether the address has a question mark.
    var hasQuery: Bool { !query.pairs.isEmpty }
    /// Of a form, or of a multipart body but for its file.
    package let form: FormParameters
    package let fields: [(name: String, value: String)]
    /// By their names.
    package let cookies: [String: String]
    /// The file of a multipart body, or the whole body of a `PUT`.
    let upload: UploadedFile?
    /// Bytes of the body.
    package let bodySize: Int
    /// Of the peer; failed logins are counted by it.
    let address: String

    /// Query and form; the form wins.
    package var parameters: FormParameters { query.merged(with: form) }
    package func parameter(_ name: String) -> String? { parameters[name] }
    package func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
    /// `get_action`, or its other name; of a REST request the action of its path.
    package var action: String? {
        if let pieces = restPieces {
            guard pieces.first == "v2" else { return pieces.dropFirst(1).first }
            return pieces.count == 5 && pieces[1] == "workspaces" ? pieces[3] : pieces.prefix(2).joined(separator: "/")
        }
        return parameter("get_action") ?? parameter("action")
    }
    package var token: String? { parameter("secure_token") }
    /// The cookie of the session.
    package var session: String? { cookies[SessionTable.cookieName] }
    /// Bytes of the uploaded file.
    package var uploadSize: Int? { upload?.size }

    /// The decoded pieces of the path behind `/api/`, the first of which is the workspace.
    var restPieces: [String]? {
        guard let start = rawPath.ranges(of: "/api/").first else { return nil }
        return rawPath[start.upperBound...].split(separator: "/").map(\.urlDecoded)
    }

    /// To be remembered.
    var abridged: FakePydioRequest {
        FakePydioRequest(
            method: method, rawPath: rawPath, query: query.abridged, form: form.abridged, fields: fields,
            cookies: cookies,
            upload: upload.map { UploadedFile(name: $0.name, part: $0.part, size: $0.size, file: nil) },
            bodySize: bodySize, address: address)
    }
}

/// A file as it came.
struct UploadedFile: Sendable {
    let name: String
    /// The name of the part.
    let part: String
    let size: Int
    /// Nil once it was taken.
    let file: StoredFile?
}
