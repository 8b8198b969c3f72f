import MatrixProtocol

/// Sending. Messages go out one after the other, in the order of the calls; a message whose answer was lost is sent again
/// without becoming two. Until a sync brings it back it is among ``MXRoom/outgoingMessages``.
extension MXRoom {
    /// Sends an event of any type.
    ///
    /// Where encryption enters: in an encrypted room messages would be encrypted here. As there is none, they are refused.
    ///
    /// - Returns: Its id.
    /// - Throws: `MatrixError` of code `encryptionNotAvailable` in an encrypted room; what the server says.
    public func sendEvent(_ type: MXEventType, content: [String: Any]) async throws -> String {
        let event = try prepare(type, content)
        return try await sendQueue.send(event)
    }

    /// The event as it is shown until the server has confirmed it.
    private func prepare(_ type: MXEventType, _ content: [String: Any]) throws -> MXOutgoingEvent {
        try requirePlain(type)
        return try sendQueue.add(type: type.identifier, content: content, state: .preparing)
    }

    /// Reactions are never encrypted.
    func requirePlain(_ type: MXEventType) throws {
        guard state?.isEncrypted == true, type != .reaction else { return }
        throw MatrixError(
            .encryptionNotAvailable,
            "room \(roomId) is encrypted, and this library cannot encrypt: nothing was sent", roomId: roomId)
    }

    /// Sends a text.
    ///
    /// - Parameters:
    ///   - formattedText: The same in HTML.
    ///   - threadId: The event that a thread began with.
    ///   - replaces: A message of our own that it is to take the place of.
    /// - Returns: The event's id.
    @discardableResult
    public func sendTextMessage(
        _ text: String, formattedText: String? = nil, threadId: String? = nil, replaces: String? = nil
    ) async throws -> String {
        try await sendEvent(.roomMessage, content: content("m.text", text, formattedText, threadId, replaces))
    }

    private func content(
        _ type: String, _ text: String, _ html: String?, _ threadId: String?, _ replaces: String?
    ) -> [String: Any] {
        let content = MessageContent.text(text, html: html, type: type)
        if let replaces { return MessageContent.edit(of: replaces, to: content) }
        if let threadId { return MessageContent.inThread(threadId, lastEventId: nil, content) }
        return content
    }

    /// Sends what a user has typed: Markdown, or `/me` with what the user does.
    @discardableResult
    public func sendMarkdown(_ text: String, threadId: String? = nil) async throws -> String {
        let content = MessageContent.typed(text)
        return try await sendEvent(
            .roomMessage,
            content: threadId.map { MessageContent.inThread($0, lastEventId: nil, content) } ?? content)
    }

    /// Sends what the user does.
    @discardableResult
    public func sendEmote(_ text: String, formattedText: String? = nil, threadId: String? = nil) async throws -> String
    {
        try await sendEvent(.roomMessage, content: content("m.emote", text, formattedText, threadId, nil))
    }

    /// Sends a text that nobody is to answer by itself: those of bots.
    @discardableResult
    public func sendNotice(_ text: String, formattedText: String? = nil, threadId: String? = nil) async throws -> String
    {
        try await sendEvent(.roomMessage, content: content("m.notice", text, formattedText, threadId, nil))
    }

    /// Answers an event, and mentions who sent it.
    @discardableResult
    public func sendReply(to event: MXEvent, text: String, formattedText: String? = nil) async throws -> String {
        let content = MessageContent.text(text, html: formattedText)
        return try await sendEvent(
            .roomMessage, content: MessageContent.reply(to: event, with: content, currentUser: core.userId))
    }

    /// Replaces the text of a message of our own.
    @discardableResult
    public func editMessage(_ eventId: String, markdown text: String) async throws -> String {
        try await sendEvent(.roomMessage, content: MessageContent.edit(of: eventId, to: MessageContent.typed(text)))
    }

    // MARK: Messages that have failed

    /// Sends a message again that has failed, under its old transaction id.
    ///
    /// - Returns: Its id.
    @discardableResult
    public func resend(_ localEventId: String) async throws -> String {
        try await sendQueue.send(try outgoing(localEventId))
    }

    /// Gives up a message that has failed.
    public func removeOutgoingMessage(_ localEventId: String) throws {
        try sendQueue.remove(try outgoing(localEventId))
    }

    private func outgoing(_ localEventId: String) throws -> MXOutgoingEvent {
        guard let event = core.model({ $0.outgoing(localEventId, in: roomId) }) ?? nil, event.state == .failed else {
            throw MatrixError(.eventNotFound, "there is no message of that id that has failed", roomId: roomId)
        }
        return event
    }

    // MARK: Reactions and redactions

    /// Reacts to an event; nothing happens if we have reacted so already.
    public func react(_ key: String, toEvent eventId: String) async throws {
        guard ownReaction(key, to: eventId) == nil else { return }
        do {
            _ = try await sendEvent(.reaction, content: MessageContent.reaction(key, to: eventId))
        } catch let error as MXError where error.errcode == kMXErrCodeStringDuplicateAnnotation {
            // It is there already, and was not known here.
        }
    }

    /// Takes a reaction of our own back. Reactions that are not known here are asked for.
    public func unreact(_ key: String, toEvent eventId: String) async throws {
        if ownReaction(key, to: eventId) == nil { try await core.fetchReactions(to: eventId, in: roomId) }
        guard let reaction = ownReaction(key, to: eventId) else { return }
        try await redactEvent(reaction, reason: nil)
    }

    private func ownReaction(_ key: String, to eventId: String) -> String? {
        aggregations(forEvent: eventId)?.reactions?[key]?.myUserReactionEventId
    }

    /// Takes away what an event says.
    public func redactEvent(_ eventId: String, reason: String? = nil) async throws {
        _ = try await sendQueue.turns.inTurn {
            try await self.core.rest.redactEvent(eventId, inRoom: self.roomId, reason: reason)
        }
    }
}
