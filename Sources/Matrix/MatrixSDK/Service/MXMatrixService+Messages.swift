public import Foundation
import MatrixProtocol

extension MXMatrixService {
    /// Sends a text message.
    ///
    /// - Parameter content: Markdown; text that starts with `/me ` is an emote.
    /// - Returns: The event's id, once the homeserver has it.
    public func sendMessage(roomId: String, content: String) async throws -> String {
        let room = try room(roomId)
        return try await MatrixServiceError.mapped {
            try await room.sendOnce(.roomMessage, content: MessageContent.typed(content))
        }
    }

    /// Uploads a file and sends it as an image, video, audio or file, by its type.
    ///
    /// - Parameter mediaURL: A local file.
    /// - Returns: The event's id, once the homeserver has it.
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

    /// Returns messages of a room, oldest first: stored ones, then the homeserver's.
    ///
    /// - Parameters:
    ///   - limit: The maximum number. Fewer are returned at the start of the room, and while the homeserver cannot be
    ///     reached.
    ///   - from: The id of a message; returns those before it. `nil` returns the newest, including pending ones.
    public func getRoomMessages(roomId: String, limit: Int, from: String?) async throws -> [MatrixMessage] {
        guard let room = try knownAccount().session.room(withRoomId: roomId) else {
            throw MatrixServiceError.roomNotFound
        }
        return try await MatrixServiceError.mapped {
            try await MessageReader(room: room).messages(limit: limit, before: from)
        }
    }

    /// Replaces the text of one of the user's messages, or the caption of a file.
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

    /// Redacts a message.
    public func redactMessage(roomId: String, eventId: String, reason: String?) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped { try await room.redactEvent(eventId, reason: reason) }
    }

    /// Notifies the others whether the user is typing.
    public func setTyping(roomId: String, isTyping: Bool) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped { try await room.sendTypingNotification(typing: isTyping) }
    }

    /// Marks everything in a room as read.
    public func markRoomAsRead(roomId: String) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped { try await room.markAllAsRead() }
    }

    // MARK: Reactions

    /// Adds a reaction, or removes it if the user has already given it.
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

    /// Adds a reaction. Does nothing if the user has already given it.
    public func sendReaction(roomId: String, eventId: String, emoji: String) async throws {
        let room = try room(roomId)
        try await MatrixServiceError.mapped {
            try await room.react(emoji, toEvent: eventId, keepsFailed: false)
        }
    }

    /// Returns the reactions to a message, in the order in which they first appeared.
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
    /// Requests the reactions to an event that is not in the store, where some of them may be missing. Reactions to a
    /// stored event came after it, and are stored too.
    func completeReactions(to eventId: String) async throws {
        let isStored = try core.account.event(eventId, in: roomId) != nil
        if !isStored { try await core.fetchReactions(to: eventId, in: roomId) }
    }
}
