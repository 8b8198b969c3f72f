/// A workspace of a user, called *repository* on the wire.
public struct WorkspaceResponse: Sendable, Hashable {
    /// What requests name it by: a small number or 32 hexadecimal digits.
    public let workspaceId: String
    /// Its name for people.
    public let label: String?
    /// What it is for.
    public let description: String?
    /// What kind of store it is, such as `fs`; what begins with `ajxp_` is a page of the server's own.
    public let accessType: String?
    /// Its name in URLs.
    public let slug: String?
    /// Who shares it with the user.
    public let owner: String?
    /// All attributes that the server gives, under its names.
    public let attributes: [String: String]

    /// See the properties.
    public init(
        workspaceId: String, label: String? = nil, description: String? = nil, accessType: String? = nil,
        slug: String? = nil, owner: String? = nil, attributes: [String: String] = [:]
    ) {
        self.workspaceId = workspaceId
        self.label = label
        self.description = description
        self.accessType = accessType
        self.slug = slug
        self.owner = owner
        self.attributes = attributes
    }

    /// Whether it holds files, unlike the server's own pages (settings, dashboard, home).
    public var isFileStore: Bool { accessType?.hasPrefix("ajxp_") != true }
}
