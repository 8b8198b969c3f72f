import Foundation
package import Transport

/// An answer whose document is parsed once, for all recognizers.
package struct AnswerBody: Sendable {
    package let status: Int
    /// Only the status and header fields.
    package let head: HTTPResponse
    /// The type in lower case, without parameters.
    package let mimeType: String
    package let bytes: [UInt8]
    /// The document of an answer declared as XML; `nil` for others.
    package let document: Result<XMLNode, XMLReader.Failure>?

    package init(_ response: HTTPResponse, limits: XMLLimits = XMLLimits()) {
        status = response.status
        bytes = response.body
        head = HTTPResponse(status: response.status, fields: response.fields)
        let type = (response.fields["Content-Type"] ?? "").prefix { $0 != ";" }
        mimeType = type.filter { !$0.isWhitespace }.lowercased()
        if (200..<300).contains(status), mimeType == "text/xml" || mimeType == "application/xml" {
            document = Result { () throws(XMLReader.Failure) in try XMLReader.read(response.body, limits: limits) }
        } else {
            document = nil
        }
    }

    package var root: XMLNode? { try? document?.get() }

    /// The body as text, without surrounding white space.
    package var text: String {
        String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Whether the body consists only of white space.
    package var isBlank: Bool { bytes.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) } }

    /// The body as a JSON object or array. Ignores the declared type, since versions differ.
    package var json: Any? { try? JSONSerialization.jsonObject(with: Data(bytes)) }

    /// The REST interface's message for a failure; `nil` if the answer is something else.
    var jsonMessage: String? {
        mimeType == "application/json" ? (json as? [String: Any])?["message"] as? String : nil
    }

    // MARK: The seed's first two recognizers (5.1, 5.2)

    /// Whether the server requires a login: the element comes first, or the list of workspaces is empty.
    package var isNotAuthorized: Bool {
        guard let root else { return false }
        switch root.name {
        case "tree": return root.children.first?.name == "require_auth"
        case "ajxp_registry_part":
            return root.attributes == ["xPath": "user/repositories"] && root.children.isEmpty
                && root.text.allSatisfy(\.isWhitespace)
        default: return false
        }
    }

    /// The error text of a page that PHP sends if it fails while running.
    package var pageError: String? {
        guard (200..<300).contains(status), mimeType == "text/html" else { return nil }
        // It comes last, after any earlier output.
        let end = String(decoding: bytes.suffix(16_384), as: UTF8.self)
        guard let match = end.firstMatch(of: /displayMessage\(\s*["']ERROR["']\s*,\s*(["'])((?:\\.|(?!\1)[^\\])*)\1/)
        else { return nil }
        return String(match.2.replacing(/\\(.)/) { $0.1 == "n" ? " " : String($0.1) })
    }

    /// The server's error message, if it comes first.
    package var errorMessage: String? {
        guard let message = root?.children.first, root?.name == "tree", message.name == "message",
            message["type"] == "ERROR"
        else { return nil }
        return message.text
    }
}
