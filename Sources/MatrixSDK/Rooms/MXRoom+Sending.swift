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

    /// The event as it is shown until the server has confirmed it, in its place of the queue.
    func enqueue(_ type: MXEventType, _ content: [String: Any]) throws -> SendQueue.Entry {
        try sendQueue.add(type: type.identifier, content: content)
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

    func content(
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
        guard ownReaction(key, to: eventId) == nil else { return }
        let entry = try enqueue(.reaction, MessageContent.reaction(key, to: eventId))
        try await send(reaction: entry, keepsFailed: keepsFailed)
    }

    private func send(reaction entry: SendQueue.Entry, keepsFailed: Bool = true) async throws {
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
        try await sendQueue.turns.inTurn { try await self.redact(eventId, reason: reason) }
    }

    private func redact(_ eventId: String, reason: String?) async throws {
        _ = try await core.rest.redactEvent(eventId, inRoom: roomId, reason: reason)
        try core.redacted(eventId, in: roomId)
    }

    // MARK: With callbacks

    /// Sends an event of any type, with a callback that is given its id. It takes its place in the queue at once.
    @discardableResult
    public func sendEvent(
        _ type: MXEventType, content: [String: Any], completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        var echo: MXEvent?
        return sendEvent(type, content: content, localEcho: &echo, completion: completion)
    }

    /// The same, with what stands for the event until the server has confirmed it; nil if it cannot be sent.
    @discardableResult
    public func sendEvent(
        _ type: MXEventType, content: [String: Any], localEcho: inout MXEvent?,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        let entry = Result { try enqueue(type, content) }
        localEcho = (try? entry.get()).flatMap { $0.event.event(sender: core.userId) }
        return core.rest.operation(completion) { try await self.sendQueue.send(entry.get()) }
    }

    /// Sends a text, with a callback that is given its id.
    @discardableResult
    public func sendTextMessage(
        _ text: String, formattedText: String? = nil, threadId: String? = nil, replaces: String? = nil,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        sendEvent(
            .roomMessage, content: content("m.text", text, formattedText, threadId, replaces), completion: completion)
    }

    /// The same, with what stands for the message until the server has confirmed it.
    @discardableResult
    public func sendTextMessage(
        _ text: String, formattedText: String? = nil, threadId: String? = nil, replaces: String? = nil,
        localEcho: inout MXEvent?, completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        sendEvent(
            .roomMessage, content: content("m.text", text, formattedText, threadId, replaces), localEcho: &localEcho,
            completion: completion)
    }

    /// Sends what the user does, with a callback that is given its id.
    @discardableResult
    public func sendEmote(
        _ text: String, formattedText: String? = nil, threadId: String? = nil,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        sendEvent(
            .roomMessage, content: content("m.emote", text, formattedText, threadId, nil), completion: completion)
    }

    /// The same, with what stands for the message until the server has confirmed it.
    @discardableResult
    public func sendEmote(
        _ text: String, formattedText: String? = nil, threadId: String? = nil, localEcho: inout MXEvent?,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        sendEvent(
            .roomMessage, content: content("m.emote", text, formattedText, threadId, nil), localEcho: &localEcho,
            completion: completion)
    }

    /// Replaces the text of a message of our own, with a callback that is given the id of the edit.
    @discardableResult
    public func editMessage(
        _ eventId: String, markdown text: String, completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        sendEvent(
            .roomMessage, content: MessageContent.edit(of: eventId, to: MessageContent.typed(text)),
            completion: completion)
    }

    /// Answers an event, with a callback that is given the answer's id.
    @discardableResult
    public func sendReply(
        to event: MXEvent, text: String, formattedText: String? = nil,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        let content = MessageContent.text(text, html: formattedText)
        return sendEvent(
            .roomMessage, content: MessageContent.reply(to: event, with: content, currentUser: core.userId),
            completion: completion)
    }

    /// Reacts to an event, with a callback.
    @discardableResult
    public func react(
        _ key: String, toEvent eventId: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        guard ownReaction(key, to: eventId) == nil else { return core.rest.operation(completion) {} }
        let entry = Result { try enqueue(.reaction, MessageContent.reaction(key, to: eventId)) }
        return core.rest.operation(completion) { try await self.send(reaction: entry.get()) }
    }

    /// Takes a reaction of our own back, with a callback.
    @discardableResult
    public func unreact(
        _ key: String, toEvent eventId: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        core.rest.operation(completion) { try await self.unreact(key, toEvent: eventId) }
    }

    /// Takes away what an event says, with a callback.
    @discardableResult
    public func redactEvent(
        _ eventId: String, reason: String?, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        let turn = sendQueue.turns.take()
        return core.rest.operation(completion) {
            try await turn.run { try await self.redact(eventId, reason: reason) }
        }
    }
}
