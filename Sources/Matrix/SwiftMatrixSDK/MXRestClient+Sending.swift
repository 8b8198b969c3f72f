public import MatrixSDK

/// Callback variants: sending to rooms and to devices.
extension MXRestClient {
    /// `sendEvent(toRoom:eventType:content:transactionId:)` with a callback.
    @discardableResult
    public func sendEvent(
        toRoom roomId: String, eventType: MXEventType, content: [String: Any], transactionId: String? = nil,
        completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        let encodedContent = EncodedJSON(content)
        return operation(completion) {
            try await self.sendEvent(
                toRoom: roomId, eventType: eventType, content: encodedContent, transactionId: transactionId)
        }
    }

    /// `sendEvent(toRoom:eventType:contentJSON:transactionId:)` with a callback.
    @discardableResult
    public func sendEvent(
        toRoom roomId: String, eventType: MXEventType, contentJSON: String, transactionId: String? = nil,
        completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.sendEvent(
                toRoom: roomId, eventType: eventType, contentJSON: contentJSON, transactionId: transactionId)
        }
    }

    /// `sendMessage(toRoom:content:transactionId:)` with a callback.
    @discardableResult
    public func sendMessage(
        toRoom roomId: String, content: [String: Any], transactionId: String? = nil,
        completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        let encodedContent = EncodedJSON(content)
        return operation(completion) {
            try await self.sendMessage(toRoom: roomId, content: encodedContent, transactionId: transactionId)
        }
    }

    /// `sendTextMessage(toRoom:threadId:text:formattedText:transactionId:)` with a callback.
    @discardableResult
    public func sendTextMessage(
        toRoom roomId: String, threadId: String? = nil, text: String, formattedText: String? = nil,
        transactionId: String? = nil, completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.sendTextMessage(
                toRoom: roomId, threadId: threadId, text: text, formattedText: formattedText,
                transactionId: transactionId)
        }
    }

    /// `sendEmote(toRoom:threadId:text:formattedText:transactionId:)` with a callback.
    @discardableResult
    public func sendEmote(
        toRoom roomId: String, threadId: String? = nil, text: String, formattedText: String? = nil,
        transactionId: String? = nil, completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.sendEmote(
                toRoom: roomId, threadId: threadId, text: text, formattedText: formattedText,
                transactionId: transactionId)
        }
    }

    /// `sendNotice(toRoom:threadId:text:formattedText:transactionId:)` with a callback.
    @discardableResult
    public func sendNotice(
        toRoom roomId: String, threadId: String? = nil, text: String, formattedText: String? = nil,
        transactionId: String? = nil, completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.sendNotice(
                toRoom: roomId, threadId: threadId, text: text, formattedText: formattedText,
                transactionId: transactionId)
        }
    }

    /// `sendEdit(ofEvent:inRoom:text:formattedText:transactionId:)` with a callback.
    @discardableResult
    public func sendEdit(
        ofEvent eventId: String, inRoom roomId: String, text: String, formattedText: String? = nil,
        transactionId: String? = nil, completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.sendEdit(
                ofEvent: eventId, inRoom: roomId, text: text, formattedText: formattedText, transactionId: transactionId
            )
        }
    }

    /// `sendReply(to:inRoom:text:formattedText:transactionId:)` with a callback.
    @discardableResult
    public func sendReply(
        to event: MXEvent, inRoom roomId: String, text: String, formattedText: String? = nil,
        transactionId: String? = nil, completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.sendReply(
                to: event, inRoom: roomId, text: text, formattedText: formattedText, transactionId: transactionId)
        }
    }

    /// `sendReaction(_:toEvent:inRoom:transactionId:)` with a callback.
    @discardableResult
    public func sendReaction(
        _ key: String, toEvent eventId: String, inRoom roomId: String, transactionId: String? = nil,
        completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.sendReaction(key, toEvent: eventId, inRoom: roomId, transactionId: transactionId)
        }
    }

    /// `redactEvent(_:inRoom:reason:transactionId:)` with a callback.
    @discardableResult
    public func redactEvent(
        _ eventId: String, inRoom roomId: String, reason: String? = nil, transactionId: String? = nil,
        completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.redactEvent(eventId, inRoom: roomId, reason: reason, transactionId: transactionId)
        }
    }

    /// `sendToDevice(eventType:messages:transactionId:)` with a callback.
    @discardableResult
    public func sendToDevice(
        eventType: String, messages: [String: Any], transactionId: String? = nil,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        let encodedMessages = EncodedJSON(messages)
        return operation(completion) {
            try await self.sendToDevice(eventType: eventType, messages: encodedMessages, transactionId: transactionId)
        }
    }
}
