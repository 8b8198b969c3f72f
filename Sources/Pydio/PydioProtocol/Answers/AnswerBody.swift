import Foundation
package import Transport

/// An answer with its document read once, for whoever is to recognise it.
package struct AnswerBody: Sendable {
    package let status: Int
    /// Status and header fields alone.
    package let head: HTTPResponse
    /// Lower case, without parameters.
    package let mimeType: String
    package let bytes: [UInt8]
    /// The document of an answer that says it is XML; nil of others.
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

    /// The root of the document.
    package var root: XMLNode? { try? document?.get() }

    /// As text, without white space around it.
    package var text: String {
        String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Nothing but white space.
    package var isBlank: Bool { bytes.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) } }

    /// As JSON: an object or an array. The type is not asked for: versions differ.
    package var json: Any? { try? JSONSerialization.jsonObject(with: Data(bytes)) }

    /// What the REST interface says of a failure; nil if the answer is something else.
    var jsonMessage: String? {
        mimeType == "application/json" ? (json as? [String: Any])?["message"] as? String : nil
    }

    // MARK: The seed's first two recognisers (5.1, 5.2)

    /// Whether the server wants a login: the element comes first, or the list of workspaces is empty.
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

    /// The text of an error that a page shows, which PHP sends when it fails in the middle of its work.
    package var pageError: String? {
        guard (200..<300).contains(status), mimeType == "text/html" else { return nil }
        // It comes last, behind whatever was sent before.
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
