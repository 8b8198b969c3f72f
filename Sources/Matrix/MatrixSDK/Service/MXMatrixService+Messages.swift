public import Foundation
import MatrixProtocol

extension MXMatrixService {
    /// Sends a text.
    ///
    /// - Parameter content: Markdown; what begins with `/me ` is an emote.
    /// - Returns: The event's id, when the homeserver has it.
    public func sendMessage(roomId: String, content: String) async throws -> String {
        let room = try room(roomId)
        return try await MatrixServiceError.mapped {
            try await room.sendOnce(.roomMessage, content: MessageContent.typed(content))
        }
    }

    /// Uploads a file and sends it, as image, video, audio or file, by its type.
    ///
    /// - Parameter mediaURL: A file here.
    /// - Returns: The event's id, when the homeserver has it.
    public func sendMedia(
        roomId: String, mediaURL: URL, mimeType: String, caption: String?
    ) async throws -> String {
        let room = try room(roomId)
        guard mediaURL.isFileURL else {
            throw MatrixServiceError.sdkError("What is to be sent must be a file on this machine.")
        }
        return try await MatrixServiceError.mapped {
            try await room.sendMediaOnce(mediaURL, mimeType: mimeType, caption: caption)
        }
    }

    /// Messages of a room, oldest first: what is kept here, then what the homeserver has.
    ///
    /// - Parameters:
    ///   - limit: How many at most. Fewer come at the room's beginning, and while the homeserver cannot be asked for more.
    ///   - from: The id of a message: those before it. Nil: the newest, with those on their way.
    public func getRoomMessages(roomId: String, limit: Int, from: String?) async throws -> [MatrixMessage] {
        guard let room = try knownAccount().session.room(withRoomId: roomId) else {
            throw MatrixServiceError.roomNotFound
        }
        return try await MatrixServiceError.mapped {
            try await MessageReader(room: room).messages(limit: limit, before: from)
        }
    }

    /// Puts another text in the place of what a message of ours says; of a file in the place of its caption.
    public func editMessage(roomId: String, eventId: String, newContent: String) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped {
            let event = try await room.event(withId: eventId)
            guard event.sender == room.core.userId, event.isMessage, event.pollPart == nil else {
                throw MatrixServiceError.sdkError("Only messages of one's own can be edited, and no polls.")
            }
            try await room.edit(event, markdown: newContent)
        }
    }

    /// Takes a message back.
    public func redactMessage(roomId: String, eventId: String, reason: String?) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped { try await room.redactEvent(eventId, reason: reason) }
    }

    /// Tells the others whether we are typing.
    public func setTyping(roomId: String, isTyping: Bool) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped { try await room.sendTypingNotification(typing: isTyping) }
    }

    /// Tells everybody that we have read everything.
    public func markRoomAsRead(roomId: String) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped { try await room.markAllAsRead() }
    }

    // MARK: Reactions

    /// Gives a reaction, or takes it back if we have given it.
    public func toggleReaction(roomId: String, eventId: String, emoji: String) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped {
            try await room.completeReactions(to: eventId)
            if room.aggregations(forEvent: eventId)?.reactions?[emoji]?.containsCurrentUser == true {
                try await room.unreact(emoji, toEvent: eventId)
            } else {
                try await room.react(emoji, toEvent: eventId, keepsFailed: false)
            }
        }
    }

    /// Gives a reaction. Nothing happens if we have given it already.
    public func sendReaction(roomId: String, eventId: String, emoji: String) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped {
            try await room.react(emoji, toEvent: eventId, keepsFailed: false)
        }
    }

    /// The reactions to a message, in the order in which they first came.
    public func getReactions(roomId: String, eventId: String) async throws -> [MatrixReaction] {
        guard let room = try knownAccount().session.room(withRoomId: roomId) else {
            throw MatrixServiceError.roomNotFound
        }
        return try await MatrixServiceError.mapped {
            try await room.completeReactions(to: eventId)
            return MatrixReaction.all(of: eventId, in: room)
        }
    }
}

extension MXRoom {
    /// Asks the server for the reactions to an event that the store does not have: it then may lack some of them. Those to
    /// one that it has came after it, and are there too.
    func completeReactions(to eventId: String) async throws {
        let isStored = try core.account.event(eventId, in: roomId) != nil
        if !isStored { try await core.fetchReactions(to: eventId, in: roomId) }
    }
}
