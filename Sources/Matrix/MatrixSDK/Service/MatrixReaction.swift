/// A reaction to a message, with all users who gave it.
public struct MatrixReaction: Sendable, Hashable, Identifiable {
    /// The reaction's key, usually an emoji. Keys are compared byte by byte.
    public let emoji: String
    /// The ids of the users, in the order in which they reacted.
    public var userIds: [String]
    /// The number of users who gave it. May exceed the number of ``userIds`` while not all of them are known.
    public var count: Int
    /// Whether the user is among them.
    public var isOwn: Bool

    /// - Parameter count: The number of users; `nil` counts `userIds`.
    public init(emoji: String, userIds: [String], count: Int? = nil, isOwn: Bool = false) {
        (self.emoji, self.userIds, self.isOwn) = (emoji, userIds, isOwn)
        self.count = count ?? userIds.count
    }

    /// The emoji.
    public var id: String { emoji }
}
