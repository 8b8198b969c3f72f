/// A workspace of a user, called *repository* on the wire.
public struct WorkspaceResponse: Sendable, Hashable {
    /// The id in requests: a small number or 32 hexadecimal digits.
    public let workspaceId: String
    /// The display name.
    public let label: String?
    /// A description of its purpose.
    public let description: String?
    /// The kind of storage, such as `fs`; kinds that begin with `ajxp_` are the server's own pages.
    public let accessType: String?
    /// The name in URLs.
    public let slug: String?
    /// The user who shares it with this user.
    public let owner: String?
    /// All attributes from the server, by its names.
    public let attributes: [String: String]

    /// Creates an instance with the given properties.
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
