/// A user of a server, as an administrator sees it.
public struct PydioUserAccount: Sendable, Hashable {
    /// The name that the user logs in with.
    public let userId: String
    /// The name that others see, if different.
    public let displayName: String?
    /// Whether the user is an administrator of the server.
    public let isAdministrator: Bool
    /// Whether another user created the account for sharing.
    public let isGuest: Bool
    /// The names of the roles that an administrator has assigned to the user.
    public let roles: [String]
    /// The user's group, or `/` for none.
    public let groupPath: String

    /// Whether the account can be deleted: it is not the caller's own.
    package let isEditable: Bool

    /// - Returns: `nil` if the entry of the server's list is something else.
    package init?(_ entry: XMLNode, in group: String) {
        guard let id = entry["object_id"], !id.isEmpty, entry["ajxp_mime"]?.hasPrefix("user") == true else {
            return nil
        }
        userId = id
        displayName = entry["text"].flatMap { $0.isEmpty || $0 == id ? nil : $0 }
        // The words in the list are translated, its icons are not.
        isAdministrator = entry["icon"]?.hasPrefix("user_admin") ?? false
        isGuest = entry["icon"]?.hasPrefix("user_child") == true || entry["shared_user"] == "true"
        roles = (entry["ajxp_roles"] ?? "").split(separator: ",").map { $0.drop { $0 == " " } }.map { String($0) }
            .filter { !$0.isEmpty }
        groupPath = group
        isEditable = entry["ajxp_mime"] == "user_editable"
    }
}

/// A user's rights in a workspace.
public struct PydioRights: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// See `OptionSet`.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The right to list and download.
    public static let read = PydioRights(rawValue: 1)
    /// The right to upload, change and delete.
    public static let write = PydioRights(rawValue: 2)

    /// The rights as servers write them.
    package var text: String { (contains(.read) ? "r" : "") + (contains(.write) ? "w" : "") }
}

/// A workspace for an administrator to create.
public struct CreateWorkspaceRequestParams: PydioRequestParams, Hashable {
    /// The display name of the workspace.
    public var label: String
    /// The folder of its files, on the server's disk or in the form of its driver.
    public var path: String
    /// The kind of storage: the server's name of a plugin without `access.`. Default: files on the server's disk.
    public var driver = "fs"
    /// The name in URLs. If `nil`, the server derives it from the label.
    public var slug: String?
    /// A description of its purpose.
    public var summary = ""
    /// Whether the server creates the folder if there is none. Default: yes.
    public var createsFolder = true
    /// The name of its recycle bin. If `nil`, there is none, and deletions are permanent. Default: `recycle_bin`.
    public var recycleBin: String? = "recycle_bin"
    /// The rights of all users in it. Default: none; its creator has all rights.
    public var defaultRights: PydioRights = []
    /// Additional parameters, which override those above. Options of the driver begin with `DRIVER_OPTION_`.
    public var additional: [String: PydioParameter] = [:]

    /// Creates an instance with the given properties.
    public init(label: String, path: String) {
        (self.label, self.path) = (label, path)
    }

    /// The parameters by the server's names.
    public var dictionaryRepresentation: [String: PydioParameter] {
        var values: [String: PydioParameter] = [
            "DISPLAY": .text(label), "DRIVER": .text(driver), "DRIVER_OPTION_PATH": .text(path),
            "DRIVER_OPTION_CREATE": createsFolder ? "true" : "false", "DRIVER_OPTION_CREATE_ajxptype": "boolean",
            "DRIVER_OPTION_USER_DESCRIPTION": .text(summary), "DRIVER_OPTION_DEFAULT_RIGHTS": .text(defaultRights.text),
        ]
        values["DRIVER_OPTION_RECYCLE_BIN"] = recycleBin.map { .text($0) }
        values["DRIVER_OPTION_AJXP_SLUG"] = slug.map { .text($0) }
        values["AJXP_SLUG"] = slug.map { .text($0) }
        return values.merging(additional) { $1 }
    }
}
