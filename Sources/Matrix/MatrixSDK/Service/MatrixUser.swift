/// Somebody, as a room shows them.
public struct MatrixUser: Sendable, Hashable, Identifiable {
    /// The user id, such as `@ann:example.org`.
    public let id: String
    /// Nil if there is none, or it is not known.
    public var displayName: String?
    /// An `mxc:` URL.
    public var avatarURL: String?

    /// Somebody of whom no more than the id may be known.
    public init(id: String, displayName: String? = nil, avatarURL: String? = nil) {
        (self.id, self.displayName, self.avatarURL) = (id, displayName, avatarURL)
    }

    /// The display name, or else the user id.
    public var name: String { displayName ?? id }
}
