import Basics
package import Foundation
import Transport

/// Which node to make a public link to, and how it can be used.
public struct PublicLinkRequestParams: PydioRequestParams, Hashable {
    /// The workspace's id.
    public var workspaceId: String
    /// The file or folder.
    public var path: String
    /// What visitors see as its title. Nil: the node's name.
    public var label: String?
    /// What visitors have to enter. Nil: nothing.
    public var password: String?
    /// Days until the link ends. Nil: as long as the server allows.
    public var expirationDays: Int?
    /// Downloads until the link ends. Nil: as many as the server allows.
    public var downloadLimit: Int?
    /// Further parameters; these win over those above.
    public var additional: [String: PydioParameter] = [:]

    /// See the properties.
    public init(workspaceId: String, path: String) {
        (self.workspaceId, self.path) = (workspaceId, path)
    }

    /// The parameters under the names of the server.
    public var dictionaryRepresentation: [String: PydioParameter] {
        let name = path.pathSegments.last ?? path
        var values: [String: PydioParameter] = [
            "tmp_repository_id": .text(workspaceId), "file": .text(path), "sub_action": "create_minisite",
            // Visitors are somebody to the server: a user that it makes for the link.
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
    /// Neither the path nor the password.
    public var description: String { "a public link in the workspace \(workspaceId)" }
    /// The same.
    public var debugDescription: String { description }
    /// Nothing: reflection would show the password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension AnswerRecogniser where Value == URL {
    /// The link as text. A number instead of it says why there is none; what it means differs between versions.
    package static let publicLink = Self("the request for a public link") { body in
        guard body.document == nil else { return .other }
        if !body.isBlank, body.bytes.count < 10, body.text.allSatisfy(\.isNumber) {
            return .serverError("no link can be made (\(body.text))")
        }
        return Match(webAddress(body.text))
    }

    /// Nil unless it can be opened by who has no account.
    static func webAddress(_ text: String) -> URL? {
        // URL would encode what cannot be in an address.
        guard !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "<") }),
            let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()),
            !(url.host ?? "").isEmpty
        else { return nil }
        return url
    }
}
