public import Foundation
public import MatrixProtocol

/// A message as a room shows it: with its last edit and its reactions. A value: later changes make a new one with the
/// same ``id``.
public struct MatrixMessage: Sendable, Hashable, Identifiable {
    /// What a message says.
    public typealias Content = MatrixMessageContent

    /// How far a message of our own has come.
    public enum SendStatus: Sendable, Hashable {
        /// The homeserver has it; so it is with everything that others wrote.
        case sent
        case sending
        /// It stays here, to be tried again or dropped; why, in words.
        case failed(String)
    }

    /// The event id, or a local id until the homeserver has given one.
    public var id: String
    /// The room that it was sent to.
    public let roomId: String
    /// Who wrote it.
    public var sender: MatrixUser
    /// What it says, after its last edit.
    public var content: Content
    /// When it was sent, as the sender's homeserver claims: messages need not be in its order.
    public var timestamp: Date
    /// Whether we wrote it.
    public var isOwn: Bool
    /// Whether the sender has changed it.
    public var isEdited: Bool
    /// The message that this one answers.
    public var replyToId: String?
    /// The first message of the thread that this one is in.
    public var threadId: String?
    /// In the order in which they first came.
    public var reactions: [MatrixReaction]
    /// How far it has come, if it is ours.
    public var sendStatus: SendStatus

    /// A message; without further words one that somebody else has sent.
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

    /// Whether it was taken back.
    public var isRedacted: Bool {
        if case .redacted = content { true } else { false }
    }

    /// What there is to read in it: see ``MatrixMessageContent/body``.
    public var body: String { content.body }

    /// The file that it carries.
    public var attachment: MatrixAttachment? { content.attachment }
}

extension MatrixMessage: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Its id, never what it says.
    public var description: String { "message \(id) in \(roomId)" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Nothing of what it says.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
