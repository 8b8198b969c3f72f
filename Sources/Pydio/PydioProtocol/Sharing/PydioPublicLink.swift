public import Foundation

/// A public link to a file or folder, as the server describes it.
public struct PydioPublicLink: Sendable, Hashable {
    /// What the server calls the link: the last part of its address.
    public let linkId: String
    /// Its address. Nil if the server gives none that can be opened.
    public let url: URL?
    /// The title that visitors see.
    public let label: String?
    /// Whether visitors must enter a password.
    public let hasPassword: Bool
    /// Whether visitors can download, not only look.
    public let allowsDownload: Bool
    /// Days until it expires, rounded; negative once it has. Nil: never.
    public let expirationDays: Int?
    /// Downloads until it expires. Nil: any number.
    public let downloadLimit: Int?
    /// Downloads so far. Servers only count them if there is a limit.
    public let downloadCount: Int?
    /// Whether it no longer works, because of its age or its downloads.
    public let isExpired: Bool

    /// What a server needs to be told to change the link; nil if it cannot be changed.
    package let origin: Origin?
    /// Whether the server can remove an expiry or a limit, and end one link by its name.
    package let isOfVersion7: Bool

    package struct Origin: Sendable, Hashable {
        /// The workspace that the server has made for the link.
        package let workspaceId: String
        /// The user that the server has made for its visitors.
        package let guest: String
        package let description: String
        package let canRead: Bool
        package let canWrite: Bool
    }
}

/// A change of a setting that there may be or not.
public enum PydioChange<Value: Sendable & Hashable>: Sendable, Hashable {
    /// The setting stays as it is.
    case keep
    /// There is no such setting any more.
    case remove
    /// The setting has this value from now on.
    case set(Value)
}

/// How a public link is to be changed.
public struct PublicLinkChanges: Sendable, Hashable {
    /// What visitors must enter. Default: as before.
    public var password: PydioChange<String> = .keep
    /// Days from now until it expires. Default: as before.
    public var expirationDays: PydioChange<Int> = .keep
    /// Downloads until it expires. Default: as before.
    public var downloadLimit: PydioChange<Int> = .keep
    /// The title that visitors see. Nil, the default: as before.
    public var label: String?

    /// No changes.
    public init() {}
}

extension PublicLinkChanges: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Nothing of the password.
    public var description: String { "changes of a public link" }
    /// The same.
    public var debugDescription: String { description }
    /// Nothing: reflection would show the password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension PublicLinkChanges {
    /// The request's parameters. Only what changes is sent of password, expiry and limit; the rights must be, all of them.
    package func parameters(of link: PydioPublicLink, at path: String) throws(PydioError) -> [String: PydioParameter] {
        guard let origin = link.origin else {
            throw PydioError(
                .unsupportedOperation,
                "the server cannot change links of this kind: create another one; nothing was changed")
        }
        guard link.isOfVersion7 || (expirationDays != .remove && downloadLimit != .remove) else {
            throw PydioError(
                .unsupportedOperation,
                "servers before version 7 cannot remove a link's expiry or its limit of downloads; nothing was changed")
        }
        var values: [String: PydioParameter] = [
            "file": .text(path), "sub_action": "create_minisite", "hash": .text(link.linkId),
            "repository_id": .text(origin.workspaceId), "guest_user_id": .text(origin.guest),
            "repo_label": .text(label ?? link.label ?? NodeName.split(path).name),
            "repo_description": .text(origin.description),
        ]
        if origin.canRead { values["simple_right_read"] = "on" }
        if origin.canWrite { values["simple_right_write"] = "on" }
        if link.allowsDownload { values["simple_right_download"] = "on" }
        values["guest_user_pass"] = password.sent {
            $0
        } removed: {
            ""
        }
        values["expiration"] = expirationDays.sent {
            String($0)
        } removed: {
            "0"
        }
        values["downloadlimit"] = downloadLimit.sent {
            String($0)
        } removed: {
            "0"
        }
        return values
    }

    /// What no error may quote.
    package var secrets: [String] { if case .set(let password) = password { [password] } else { [] } }
}

extension PydioChange {
    fileprivate func sent(_ text: (Value) -> String, removed: () -> String) -> PydioParameter? {
        switch self {
        case .keep: nil
        case .remove: .text(removed())
        case .set(let value): .text(text(value))
        }
    }
}
