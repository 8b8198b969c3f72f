public import Foundation

/// A public link to a file or folder, as the server describes it.
public struct PydioPublicLink: Sendable, Hashable {
    /// The server's name of the link: the last part of its address.
    public let linkId: String
    /// The address; `nil` if the server sends none that can be opened.
    public let url: URL?
    /// The title that visitors see.
    public let label: String?
    /// Whether visitors must enter a password.
    public let hasPassword: Bool
    /// Whether visitors can download, not only view.
    public let allowsDownload: Bool
    /// The number of days until it expires, rounded; negative once expired. `nil` if it never expires.
    public let expirationDays: Int?
    /// The number of downloads until it expires; `nil` for any number.
    public let downloadLimit: Int?
    /// The number of downloads so far. Servers only count them if there is a limit.
    public let downloadCount: Int?
    /// Whether it no longer works, because of its age or its downloads.
    public let isExpired: Bool

    /// The values that a server needs to change the link; `nil` if it cannot be changed.
    package let origin: Origin?
    /// Whether the server can remove an expiry or a limit, and revoke one link by name.
    package let isOfVersion7: Bool

    package struct Origin: Sendable, Hashable {
        /// The workspace that the server has created for the link.
        package let workspaceId: String
        /// The user that the server has created for its visitors.
        package let guest: String
        package let description: String
        package let canRead: Bool
        package let canWrite: Bool
    }
}

/// A change of an optional setting.
public enum PydioChange<Value: Sendable & Hashable>: Sendable, Hashable {
    /// Keep the setting.
    case keep
    /// Remove the setting.
    case remove
    /// Set the setting to this value.
    case set(Value)
}

/// Changes of a public link.
public struct PublicLinkChanges: Sendable, Hashable {
    /// The password that visitors must enter. Default: unchanged.
    public var password: PydioChange<String> = .keep
    /// The number of days from now until it expires. Default: unchanged.
    public var expirationDays: PydioChange<Int> = .keep
    /// The number of downloads until it expires. Default: unchanged.
    public var downloadLimit: PydioChange<Int> = .keep
    /// The title that visitors see; `nil`, the default, keeps it.
    public var label: String?

    /// Creates an instance without changes.
    public init() {}
}

extension PublicLinkChanges: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the password.
    public var description: String { "changes of a public link" }
    /// Same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, because reflection would show the password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension PublicLinkChanges {
    /// Returns the request's parameters. Of password, expiry and limit, only changes are sent; the rights must always
    /// be sent completely.
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

    /// The texts that no error may quote.
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
