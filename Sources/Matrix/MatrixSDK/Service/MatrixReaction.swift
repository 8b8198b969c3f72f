/// A reaction to a message, with all who gave it.
public struct MatrixReaction: Sendable, Hashable, Identifiable {
    /// The reaction's key, in most cases an emoji. Keys are told apart byte by byte.
    public let emoji: String
    /// Ids of the users, in the order in which they reacted.
    public var userIds: [String]
    /// How many gave it. More than ``userIds`` has while not all of them are known.
    public var count: Int
    /// Whether we are among them.
    public var isOwn: Bool

    /// - Parameter count: Nil counts `userIds`.
    public init(emoji: String, userIds: [String], count: Int? = nil, isOwn: Bool = false) {
        (self.emoji, self.userIds, self.isOwn) = (emoji, userIds, isOwn)
        self.count = count ?? userIds.count
    }

    /// The emoji.
    public var id: String { emoji }
}
