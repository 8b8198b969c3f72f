public import MatrixSDK

/// Callback variants: sending.
extension MXRoom {
    /// Sends an event of any type. It takes its place in the queue at once; the callback receives its id.
    @discardableResult
    public func sendEvent(
        _ type: MXEventType, content: [String: Any], completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        var echo: MXEvent?
        return sendEvent(type, content: content, localEcho: &echo, completion: completion)
    }

    /// Sends an event, and sets `localEcho` to represent it until the server has confirmed it; `nil` if it cannot be
    /// sent.
    @discardableResult
    public func sendEvent(
        _ type: MXEventType, content: [String: Any], localEcho: inout MXEvent?,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        let event = Result { try queuedEvent(type, content) }
        localEcho = event.value?.echo
        return rest.operation(completion) { try await event.get().send() }
    }

    /// Sends a text message. The callback receives its id.
    @discardableResult
    public func sendTextMessage(
        _ text: String, formattedText: String? = nil, threadId: String? = nil, replaces: String? = nil,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        sendEvent(
            .roomMessage, content: content("m.text", text, formattedText, threadId, replaces), completion: completion)
    }

    /// Sends a text message, and sets `localEcho` to represent it until the server has confirmed it.
    @discardableResult
    public func sendTextMessage(
        _ text: String, formattedText: String? = nil, threadId: String? = nil, replaces: String? = nil,
        localEcho: inout MXEvent?, completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        sendEvent(
            .roomMessage, content: content("m.text", text, formattedText, threadId, replaces), localEcho: &localEcho,
            completion: completion)
    }

    /// Sends an emote, an action of the user. The callback receives its id.
    @discardableResult
    public func sendEmote(
        _ text: String, formattedText: String? = nil, threadId: String? = nil,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        sendEvent(
            .roomMessage, content: content("m.emote", text, formattedText, threadId, nil), completion: completion)
    }

    /// Sends an emote, and sets `localEcho` to represent it until the server has confirmed it.
    @discardableResult
    public func sendEmote(
        _ text: String, formattedText: String? = nil, threadId: String? = nil, localEcho: inout MXEvent?,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        sendEvent(
            .roomMessage, content: content("m.emote", text, formattedText, threadId, nil), localEcho: &localEcho,
            completion: completion)
    }

    /// Replaces the text of one of the user's messages. The callback receives the id of the edit.
    @discardableResult
    public func editMessage(
        _ eventId: String, markdown text: String, completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        sendEvent(
            .roomMessage, content: MessageContent.edit(of: eventId, to: MessageContent.typed(text)),
            completion: completion)
    }

    /// Replies to an event. The callback receives the reply's id.
    @discardableResult
    public func sendReply(
        to event: MXEvent, text: String, formattedText: String? = nil,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        sendEvent(.roomMessage, content: replyContent(to: event, text, formattedText), completion: completion)
    }

    /// Reacts to an event, with a callback.
    @discardableResult
    public func react(
        _ key: String, toEvent eventId: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        let send = Result { try queuedReaction(key, toEvent: eventId) }
        return rest.operation(completion) { _ = try await send.get()?() }
    }

    /// Removes the user's own reaction, with a callback.
    @discardableResult
    public func unreact(
        _ key: String, toEvent eventId: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.unreact(key, toEvent: eventId) }
    }

    /// Removes an event's content, with a callback.
    @discardableResult
    public func redactEvent(
        _ eventId: String, reason: String?, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion, queuedRedaction(of: eventId, reason: reason))
    }
}
