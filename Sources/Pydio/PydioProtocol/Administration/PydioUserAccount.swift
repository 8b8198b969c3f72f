/// A user of a server, as an administrator sees it.
public struct PydioUserAccount: Sendable, Hashable {
    /// The name that the user logs in with.
    public let userId: String
    /// The name that others see, if it is another.
    public let displayName: String?
    /// Whether the user may administer the server.
    public let isAdministrator: Bool
    /// Whether another user has made it, to share with.
    public let isGuest: Bool
    /// The names of the roles that an administrator has given the user.
    public let roles: [String]
    /// The group that the user is in, `/` for none.
    public let groupPath: String

    /// Whether it can be deleted: it is not that of who asks.
    package let isEditable: Bool

    /// - Returns: Nil if an entry of the server's list is something else.
    package init?(_ entry: XMLNode, in group: String) {
        guard let id = entry["object_id"], !id.isEmpty, entry["ajxp_mime"]?.hasPrefix("user") == true else {
            return nil
        }
        userId = id
        displayName = entry["text"].flatMap { $0.isEmpty || $0 == id ? nil : $0 }
        // What the list says in words is translated; its icons are not.
        isAdministrator = entry["icon"]?.hasPrefix("user_admin") ?? false
        isGuest = entry["icon"]?.hasPrefix("user_child") == true || entry["shared_user"] == "true"
        roles = (entry["ajxp_roles"] ?? "").split(separator: ",").map { $0.drop { $0 == " " } }.map { String($0) }
            .filter { !$0.isEmpty }
        groupPath = group
        isEditable = entry["ajxp_mime"] == "user_editable"
    }
}

/// What a user may do in a workspace.
public struct PydioRights: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// See `OptionSet`.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// List and download.
    public static let read = PydioRights(rawValue: 1)
    /// Upload, change and delete.
    public static let write = PydioRights(rawValue: 2)

    /// As servers write them.
    package var text: String { (contains(.read) ? "r" : "") + (contains(.write) ? "w" : "") }
}

/// A workspace to be created by an administrator.
public struct CreateWorkspaceRequestParams: PydioRequestParams, Hashable {
    /// Its name for people.
    public var label: String
    /// The folder that its files are kept in, on the server's disk or in words that its driver knows.
    public var path: String
    /// What kind of store it is: the server's name of a plugin without `access.`. Default: files on the server's disk.
    public var driver = "fs"
    /// Its name in URLs. Nil: what the server makes of the label.
    public var slug: String?
    /// What it is for.
    public var summary = ""
    /// Whether the server creates the folder if there is none. Default: yes.
    public var createsFolder = true
    /// The name of its recycle bin. Nil: none; deleted files are then gone. Default: `recycle_bin`.
    public var recycleBin: String? = "recycle_bin"
    /// What all users may do in it. Default: nothing; who creates it may do everything.
    public var defaultRights: PydioRights = []
    /// Further parameters; these win over those above. Options of the driver begin with `DRIVER_OPTION_`.
    public var additional: [String: PydioParameter] = [:]

    /// See the properties.
    public init(label: String, path: String) {
        (self.label, self.path) = (label, path)
    }

    /// The parameters under the names of the server.
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
