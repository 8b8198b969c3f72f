public import Foundation
public import MatrixProtocol

/// A message as shown in a room, with its last edit and its reactions. This is a value: later changes create a new one
/// with the same ``id``.
public struct MatrixMessage: Sendable, Hashable, Identifiable {
    /// The content of a message.
    public typealias Content = MatrixMessageContent

    /// The delivery status of the user's own message.
    public enum SendStatus: Sendable, Hashable {
        /// The homeserver has it. This includes all messages of other users.
        case sent
        case sending
        /// It stays here, to be resent or discarded. The reason is human-readable.
        case failed(String)
    }

    /// The event id, or a local id until the homeserver has assigned one.
    public var id: String
    /// The room to which the message was sent.
    public let roomId: String
    /// The author of the message.
    public var sender: MatrixUser
    /// The content after the last edit.
    public var content: Content
    /// The time it was sent, as claimed by the sender's homeserver. Messages need not be in this order.
    public var timestamp: Date
    /// Whether the user wrote it.
    public var isOwn: Bool
    /// Whether the sender has edited it.
    public var isEdited: Bool
    /// The message to which this one replies.
    public var replyToId: String?
    /// The root message of this message's thread.
    public var threadId: String?
    /// The reactions, in the order in which they first appeared.
    public var reactions: [MatrixReaction]
    /// The delivery status, for the user's own messages.
    public var sendStatus: SendStatus

    /// Creates a message; by default one that another user has sent.
    public init(
        id: String, roomId: String, sender: MatrixUser, content: Content, timestamp: Date, isOwn: Bool = false,
        isEdited: Bool = false, replyToId: String? = nil, threadId: String? = nil, reactions: [MatrixReaction] = [],
        sendStatus: SendStatus = .sent
    ) {
        (self.id, self.roomId, self.sender, self.content) = (id, roomId, sender, content)
        (self.timestamp, self.isOwn, self.isEdited) = (timestamp, isOwn, isEdited)
        (self.replyToId, self.threadId, self.reactions) = (replyToId, threadId, reactions)
        self.sendStatus = sendStatus
    }

    /// Whether the message was redacted.
    public var isRedacted: Bool {
        if case .redacted = content { true } else { false }
    }

    /// The readable text of the message: see ``MatrixMessageContent/body``.
    public var body: String { content.body }

    /// The attached file.
    public var attachment: MatrixAttachment? { content.attachment }
}

extension MatrixMessage: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The message's id, never its content.
    public var description: String { "message \(id) in \(roomId)" }

    /// Same as ``description``.
    public var debugDescription: String { description }

    /// A mirror without the message's content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
