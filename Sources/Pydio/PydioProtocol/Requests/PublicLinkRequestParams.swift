import Basics
package import Foundation
import Transport

/// The parameters of a new public link: its node and its restrictions.
public struct PublicLinkRequestParams: PydioRequestParams, Hashable {
    /// The workspace's id.
    public var workspaceId: String
    /// The file or folder.
    public var path: String
    /// The title that visitors see. If `nil`, the node's name.
    public var label: String?
    /// The password that visitors must enter; `nil` for none.
    public var password: String?
    /// The number of days until the link expires; `nil` for the server's maximum.
    public var expirationDays: Int?
    /// The number of downloads until the link expires; `nil` for the server's maximum.
    public var downloadLimit: Int?
    /// Additional parameters, which override those above.
    public var additional: [String: PydioParameter] = [:]

    /// Creates an instance with the given properties.
    public init(workspaceId: String, path: String) {
        (self.workspaceId, self.path) = (workspaceId, path)
    }

    /// The parameters by the server's names.
    public var dictionaryRepresentation: [String: PydioParameter] {
        let name = path.pathSegments.last ?? path
        var values: [String: PydioParameter] = [
            "tmp_repository_id": .text(workspaceId), "file": .text(path), "sub_action": "create_minisite",
            // To the server, visitors are a user that it creates for the link.
            "create_guest_user": "true", "simple_right_read": "on", "simple_right_download": "on",
            "repo_label": .text(label ?? name), "repo_description": "",
        ]
        values["guest_user_pass"] = password.map { .text($0) }
        values["expiration"] = expirationDays.map { .text(String($0)) }
        values["downloadlimit"] = downloadLimit.map { .text(String($0)) }
        return values.merging(additional) { $1 }
    }
}

extension PublicLinkRequestParams: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the path and the password.
    public var description: String { "a public link in the workspace \(workspaceId)" }
    /// Same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, because reflection would show the password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension AnswerRecogniser where Value == URL {
    /// The link as text. A number instead of it is an error code, whose meaning differs between versions.
    package static let publicLink = Self("the request for a public link") { body in
        guard body.document == nil else { return .other }
        if !body.isBlank, body.bytes.count < 10, body.text.allSatisfy(\.isNumber) {
            return .serverError("no link can be made (\(body.text))")
        }
        return Match(webAddress(body.text))
    }

    /// Returns `nil` unless the address can be opened without an account.
    static func webAddress(_ text: String) -> URL? {
        // URL would encode characters that are not allowed in an address.
        guard !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "<") }),
            let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()),
            !(url.host ?? "").isEmpty
        else { return nil }
        return url
    }
}
