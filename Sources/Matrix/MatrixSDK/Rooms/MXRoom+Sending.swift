import MatrixProtocol

/// Sending. Messages are sent one at a time, in the order of the calls; a message whose answer was lost is sent again
/// without duplicating it. Until a sync brings it back, it is in ``MXRoom/outgoingMessages``.
extension MXRoom {
    /// Sends an event of any type, encrypted in an encrypted room unless it is a reaction.
    ///
    /// - Returns: The event's id.
    /// - Throws: `MatrixError` with code `encryptionNotAvailable` in an encrypted room if the session does not encrypt
    ///   (``MXSessionOptions/enableCrypto``), `identityChanged` if the keys of a member differ from the verified ones,
    ///   `badResponse` if the server refuses to pass the keys on, or `timedOut` if it does not do so within half a
    ///   minute; the server's error.
    @discardableResult
    public func sendEvent(_ type: MXEventType, content: [String: Any]) async throws -> String {
        let entry = try enqueue(type, content)
        return try await sendQueue.send(entry)
    }

    /// Sends an event, keeping nothing if the server refuses it. If it may have arrived, it stays as a failed message:
    /// sent again under its transaction id, it is not duplicated.
    func sendOnce(_ type: MXEventType, content: [String: Any]) async throws -> String {
        let entry = try enqueue(type, content)
        return try await sendQueue.send(entry, keepsFailed: false)
    }

    /// Sends a message, keeping nothing if the server refuses it.
    ///
    /// - Parameter transactionId: Identifies repeats of this message; `nil` generates one.
    package func sendMessageOnce(_ content: [String: Any], transactionId: String?) async throws -> String {
        let entry = try sendQueue.add(
            type: MXEventType.roomMessage.identifier, content: content, transactionId: transactionId)
        return try await sendQueue.send(entry, keepsFailed: false)
    }

    func enqueue(_ type: MXEventType, _ content: [String: Any]) throws -> SendQueue.Entry {
        try sendQueue.add(type: type.identifier, content: content)
    }

    /// Adds an event to the queue before returning, which callback variants need to keep the order of the calls.
    ///
    /// - Returns: `echo` represents the event until the server has confirmed it; `send` sends the event.
    package func queuedEvent(
        _ type: MXEventType, _ content: [String: Any]
    ) throws -> (echo: MXEvent?, send: @Sendable () async throws -> String) {
        let entry = try enqueue(type, content)
        return (entry.event.event(sender: core.userId), { try await self.sendQueue.send(entry) })
    }

    /// Sends a text message.
    ///
    /// - Parameters:
    ///   - formattedText: The text as HTML.
    ///   - threadId: The root of the thread to send it to.
    ///   - replaces: One of the user's messages to replace.
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

    /// Sends text typed by a user: Markdown, or `/me` with an action.
    ///
    /// - Parameter mentions: Users named in the text. They are notified, and other clients show the names as pills.
    @discardableResult
    public func sendMarkdown(
        _ text: String, threadId: String? = nil, mentions: [MXMention] = []
    ) async throws -> String {
        let content = MessageContent.typed(text, naming: mentions)
        return try await sendEvent(
            .roomMessage,
            content: threadId.map { MessageContent.inThread($0, lastEventId: nil, content) } ?? content)
    }

    /// Sends an emote: an action of the user.
    @discardableResult
    public func sendEmote(_ text: String, formattedText: String? = nil, threadId: String? = nil) async throws -> String
    {
        try await sendEvent(.roomMessage, content: content("m.emote", text, formattedText, threadId, nil))
    }

    /// Sends a notice, a text that must not be answered automatically, as from a bot.
    @discardableResult
    public func sendNotice(_ text: String, formattedText: String? = nil, threadId: String? = nil) async throws -> String
    {
        try await sendEvent(.roomMessage, content: content("m.notice", text, formattedText, threadId, nil))
    }

    /// Replies to an event, and mentions its sender.
    @discardableResult
    public func sendReply(to event: MXEvent, text: String, formattedText: String? = nil) async throws -> String {
        try await sendEvent(.roomMessage, content: replyContent(to: event, text, formattedText))
    }

    /// Replies to an event with text typed by a user.
    ///
    /// - Parameter mentions: Users named in the text, in addition to the event's sender.
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

    /// Replaces the text of one of the user's messages.
    ///
    /// - Parameter mentions: Users named in the text. Those the message did not mention before are notified.
    @discardableResult
    public func editMessage(
        _ eventId: String, markdown text: String, mentions: [MXMention] = []
    ) async throws -> String {
        let old = storedEvent(eventId).map { edited($0).content } ?? [:]
        let content = MessageContent.typed(text, naming: mentions)
        return try await sendEvent(
            .roomMessage, content: MessageContent.edit(of: eventId, from: old, to: content))
    }

    /// Replaces the text of one of the user's messages, or a file's caption. Keeps nothing if it cannot be sent.
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

    // MARK: Failed messages

    /// Resends a failed message under its old transaction id.
    ///
    /// - Returns: The event's id.
    @discardableResult
    public func resend(_ localEventId: String) async throws -> String {
        try await sendQueue.send(try sendQueue.addAgain(localEventId))
    }

    /// Discards a failed message.
    public func removeOutgoingMessage(_ localEventId: String) throws {
        try sendQueue.remove(failed: localEventId)
    }

    // MARK: Reactions and redactions

    /// Reacts to an event. Does nothing if the user has already reacted with this key.
    public func react(_ key: String, toEvent eventId: String) async throws {
        try await react(key, toEvent: eventId, keepsFailed: true)
    }

    func react(_ key: String, toEvent eventId: String, keepsFailed: Bool) async throws {
        try await queuedReaction(key, toEvent: eventId, keepsFailed: keepsFailed)?()
    }

    /// Adds a reaction to the queue, before returning.
    ///
    /// - Returns: A closure that sends the reaction; `nil` if the user has already reacted with this key.
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
            // The reaction already exists, but was not known here.
            try sendQueue.remove(entry.event)
        }
    }

    /// Removes the user's own reaction. Asks the server for reactions that are not known here.
    public func unreact(_ key: String, toEvent eventId: String) async throws {
        // A pending reaction must arrive before it can be removed.
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

    /// Removes an event's content.
    public func redactEvent(_ eventId: String, reason: String? = nil) async throws {
        try await queuedRedaction(of: eventId, reason: reason)()
    }

    /// Adds a redaction to the queue, before returning.
    ///
    /// - Returns: A closure that redacts the event. Later items in the queue wait for it as long as it is held.
    package func queuedRedaction(of eventId: String, reason: String?) -> @Sendable () async throws -> Void {
        let turn = sendQueue.turns.take()
        return { try await turn.runWhileHeld { try await self.redact(eventId, reason: reason) } }
    }

    private func redact(_ eventId: String, reason: String?) async throws {
        _ = try await core.rest.redactEvent(eventId, inRoom: roomId, reason: reason)
        try core.redacted(eventId, in: roomId)
    }
}
