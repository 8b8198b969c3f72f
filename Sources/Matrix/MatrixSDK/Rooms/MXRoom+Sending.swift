import MatrixProtocol

/// Sending. Messages go out one after the other, in the order of the calls; a message whose answer was lost is sent again
/// without becoming two. Until a sync brings it back it is among ``MXRoom/outgoingMessages``.
extension MXRoom {
    /// Sends an event of any type. In an encrypted room it is encrypted, unless it is a reaction.
    ///
    /// - Returns: Its id.
    /// - Throws: `MatrixError` of code `encryptionNotAvailable` in an encrypted room if the session does not encrypt
    ///   (``MXSessionOptions/enableCrypto``), of `identityChanged` if somebody in it has other keys than were verified, of
    ///   `badResponse` if the server refuses to pass the keys on, of `timedOut` if it does not within half a minute; what the
    ///   server says.
    @discardableResult
    public func sendEvent(_ type: MXEventType, content: [String: Any]) async throws -> String {
        let entry = try enqueue(type, content)
        return try await sendQueue.send(entry)
    }

    /// Sends an event of which nothing is left if the server refuses it. When nobody knows whether it has arrived, it stays
    /// as one that has failed: sent again under its transaction id it cannot become two.
    func sendOnce(_ type: MXEventType, content: [String: Any]) async throws -> String {
        let entry = try enqueue(type, content)
        return try await sendQueue.send(entry, keepsFailed: false)
    }

    /// Sends a message of which nothing is left if the server refuses it.
    ///
    /// - Parameter transactionId: The server takes a repeat with the same one for the same message; nil makes one.
    package func sendMessageOnce(_ content: [String: Any], transactionId: String?) async throws -> String {
        let entry = try sendQueue.add(
            type: MXEventType.roomMessage.identifier, content: content, transactionId: transactionId)
        return try await sendQueue.send(entry, keepsFailed: false)
    }

    /// The event as it is shown until the server has confirmed it, in its place of the queue.
    func enqueue(_ type: MXEventType, _ content: [String: Any]) throws -> SendQueue.Entry {
        try sendQueue.add(type: type.identifier, content: content)
    }

    /// Puts an event into the queue. Its place is taken when this returns: callback forms need that to keep the order of
    /// the calls.
    ///
    /// - Returns: `echo` stands for the event until the server has confirmed it; `send` sends the event.
    package func queuedEvent(
        _ type: MXEventType, _ content: [String: Any]
    ) throws -> (echo: MXEvent?, send: @Sendable () async throws -> String) {
        let entry = try enqueue(type, content)
        return (entry.event.event(sender: core.userId), { try await self.sendQueue.send(entry) })
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

    package func content(
        _ type: String, _ text: String, _ html: String?, _ threadId: String?, _ replaces: String?
    ) -> [String: Any] {
        let content = MessageContent.text(text, html: html, type: type)
        if let replaces { return MessageContent.edit(of: replaces, to: content) }
        if let threadId { return MessageContent.inThread(threadId, lastEventId: nil, content) }
        return content
    }

    /// Sends what a user has typed: Markdown, or `/me` with what the user does.
    ///
    /// - Parameter mentions: Users whom the text names: they are notified, and other clients show the names as pills.
    @discardableResult
    public func sendMarkdown(
        _ text: String, threadId: String? = nil, mentions: [MXMention] = []
    ) async throws -> String {
        let content = MessageContent.typed(text, naming: mentions)
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
        try await sendEvent(.roomMessage, content: replyContent(to: event, text, formattedText))
    }

    /// Answers an event with what a user has typed.
    ///
    /// - Parameter mentions: Users whom the text names, beside the event's sender.
    @discardableResult
    public func sendReply(to event: MXEvent, markdown text: String, mentions: [MXMention] = []) async throws -> String {
        try await sendEvent(.roomMessage, content: replyContent(to: event, markdown: text, mentions: mentions))
    }

    package func replyContent(to event: MXEvent, markdown text: String, mentions: [MXMention]) -> [String: Any] {
        let content = MessageContent.typed(text, naming: mentions)
        return MessageContent.reply(to: event, with: content, currentUser: core.userId)
    }

    package func replyContent(to event: MXEvent, _ text: String, _ html: String?) -> [String: Any] {
        MessageContent.reply(to: event, with: MessageContent.text(text, html: html), currentUser: core.userId)
    }

    /// Replaces the text of a message of our own.
    ///
    /// - Parameter mentions: Users whom the text names. Those whom the message did not mention before are notified.
    @discardableResult
    public func editMessage(
        _ eventId: String, markdown text: String, mentions: [MXMention] = []
    ) async throws -> String {
        let old = storedEvent(eventId).map { edited($0).content } ?? [:]
        let content = MessageContent.typed(text, naming: mentions)
        return try await sendEvent(
            .roomMessage, content: MessageContent.edit(of: eventId, from: old, to: content))
    }

    /// Replaces what a message of our own says: the text, or a file's caption. Nothing is left if it cannot be sent.
    func edit(_ event: MXEvent, markdown text: String) async throws {
        var content = MessageContent.typed(text)
        let original = edited(event).content
        if let type = original["msgtype"] as? String, ["m.image", "m.video", "m.audio", "m.file"].contains(type) {
            let caption = content
            content = original
            content["msgtype"] = type
            content["filename"] = original["filename"] ?? original["body"]
            for key in ["body", "format", "formatted_body", "m.mentions"] { content[key] = caption[key] }
        }
        _ = try await sendOnce(.roomMessage, content: MessageContent.edit(of: event.eventId, to: content))
    }

    // MARK: Messages that have failed

    /// Sends a message again that has failed, under its old transaction id.
    ///
    /// - Returns: Its id.
    @discardableResult
    public func resend(_ localEventId: String) async throws -> String {
        try await sendQueue.send(try sendQueue.addAgain(localEventId))
    }

    /// Gives up a message that has failed.
    public func removeOutgoingMessage(_ localEventId: String) throws {
        try sendQueue.remove(failed: localEventId)
    }

    // MARK: Reactions and redactions

    /// Reacts to an event; nothing happens if we have reacted so already.
    public func react(_ key: String, toEvent eventId: String) async throws {
        try await react(key, toEvent: eventId, keepsFailed: true)
    }

    func react(_ key: String, toEvent eventId: String, keepsFailed: Bool) async throws {
        try await queuedReaction(key, toEvent: eventId, keepsFailed: keepsFailed)?()
    }

    /// Puts a reaction into the queue. Its place is taken when this returns.
    ///
    /// - Returns: Sends the reaction; nil if we have reacted so already.
    package func queuedReaction(
        _ key: String, toEvent eventId: String, keepsFailed: Bool = true
    ) throws -> (@Sendable () async throws -> Void)? {
        guard ownReaction(key, to: eventId) == nil else { return nil }
        let entry = try enqueue(.reaction, MessageContent.reaction(key, to: eventId))
        return { try await self.send(reaction: entry, keepsFailed: keepsFailed) }
    }

    private func send(reaction entry: SendQueue.Entry, keepsFailed: Bool) async throws {
        do {
            _ = try await sendQueue.send(entry, keepsFailed: keepsFailed)
        } catch let error as MXError where error.errcode == kMXErrCodeStringDuplicateAnnotation {
            // It is there already, and was not known here.
            try sendQueue.remove(entry.event)
        }
    }

    /// Takes a reaction of our own back. Reactions that are not known here are asked for.
    public func unreact(_ key: String, toEvent eventId: String) async throws {
        // One that is on its way must be there before it can be taken back.
        try await sendQueue.turns.inTurn {
            if self.ownReaction(key, to: eventId) == nil {
                try await self.core.fetchReactions(to: eventId, in: self.roomId)
            }
            if let reaction = self.ownReaction(key, to: eventId) { try await self.redact(reaction, reason: nil) }
        }
    }

    private func ownReaction(_ key: String, to eventId: String) -> String? {
        aggregations(forEvent: eventId)?.reactions?[key]?.myUserReactionEventId
    }

    /// Takes away what an event says.
    public func redactEvent(_ eventId: String, reason: String? = nil) async throws {
        try await queuedRedaction(of: eventId, reason: reason)()
    }

    /// Puts a redaction into the queue. Its place is taken when this returns.
    ///
    /// - Returns: Redacts the event. What comes later in the queue waits for this as long as something holds it.
    package func queuedRedaction(of eventId: String, reason: String?) -> @Sendable () async throws -> Void {
        let turn = sendQueue.turns.take()
        return { try await turn.runWhileHeld { try await self.redact(eventId, reason: reason) } }
    }

    private func redact(_ eventId: String, reason: String?) async throws {
        _ = try await core.rest.redactEvent(eventId, inRoom: roomId, reason: reason)
        try core.redacted(eventId, in: roomId)
    }
}
