/// A user as shown in a room.
public struct MatrixUser: Sendable, Hashable, Identifiable {
    /// The user id, such as `@ann:example.org`.
    public let id: String
    /// The display name; `nil` if there is none, or it is not known.
    public var displayName: String?
    /// The avatar, an `mxc:` URL.
    public var avatarURL: String?

    /// Creates a user of whom possibly only the id is known.
    public init(id: String, displayName: String? = nil, avatarURL: String? = nil) {
        (self.id, self.displayName, self.avatarURL) = (id, displayName, avatarURL)
    }

    /// The display name, or else the user id.
    public var name: String { displayName ?? id }
}
