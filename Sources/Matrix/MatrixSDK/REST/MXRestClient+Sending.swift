import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// Returns a new, unique transaction id. Use one for each message, and keep it across retries and restarts.
    public static func newTransactionId() -> String { UUID().uuidString }

    /// Sends an event to a room. In an encrypted room, this and all calls below send only reactions and content that is
    /// already encrypted; anything else fails with `encryptionNotAvailable`.
    ///
    /// - Parameters:
    ///   - content: The content, made of JSON types.
    ///   - transactionId: Identifies repeats of this request; `nil` generates one.
    /// - Returns: The event's id.
    public func sendEvent(
        toRoom roomId: String, eventType: MXEventType, content: [String: Any], transactionId: String? = nil
    ) async throws -> String {
        try await sendEvent(
            toRoom: roomId, eventType: eventType, content: EncodedJSON(content), transactionId: transactionId)
    }

    package func sendEvent(toRoom roomId: String, eventType: MXEventType, content: EncodedJSON, transactionId: String?)
        async throws -> String
    {
        _ = try content.bytes.get()  // fail before asking the server
        try await requirePlain(roomId, for: eventType)
        return try await sendCheckedEvent(
            toRoom: roomId, eventType: eventType, content: content,
            transactionId: transactionId ?? Self.newTransactionId())
    }

    /// Sends an event that the caller knows the room accepts as it is.
    func sendCheckedEvent(
        toRoom roomId: String, eventType: MXEventType, content: EncodedJSON, transactionId transaction: String
    ) async throws -> String {
        try await text(
            "event_id",
            of: APICall(
                .put, "v3/rooms/\(roomId)/send/\(eventType.identifier)/\(transaction)", body: content,
                hasTransactionId: true))
    }

    /// Sends an event whose content is already JSON text, as in a store.
    ///
    /// - Parameter transactionId: Identifies repeats of this request; `nil` generates one.
    /// - Returns: The event's id.
    public func sendEvent(
        toRoom roomId: String, eventType: MXEventType, contentJSON: String, transactionId: String? = nil
    ) async throws -> String {
        try await sendEvent(
            toRoom: roomId, eventType: eventType, content: EncodedJSON(text: Array(contentJSON.utf8)),
            transactionId: transactionId)
    }

    /// Sends a message, an event of type `m.room.message`.
    ///
    /// - Parameter transactionId: Identifies repeats of this request; `nil` generates one.
    /// - Returns: The event's id.
    public func sendMessage(toRoom roomId: String, content: [String: Any], transactionId: String? = nil) async throws
        -> String
    {
        try await sendMessage(toRoom: roomId, content: EncodedJSON(content), transactionId: transactionId)
    }

    package func sendMessage(toRoom roomId: String, content: EncodedJSON, transactionId: String?) async throws -> String
    {
        try await sendEvent(
            toRoom: roomId, eventType: .roomMessage, content: content, transactionId: transactionId)
    }

    /// Sends a message after the caller has called ``requirePlain(_:for:)``.
    package func sendCheckedMessage(
        toRoom roomId: String, content: [String: Any], transactionId: String?
    ) async throws -> String {
        try await sendCheckedEvent(
            toRoom: roomId, eventType: .roomMessage, content: EncodedJSON(content),
            transactionId: transactionId ?? Self.newTransactionId())
    }

    /// Sends a text message.
    ///
    /// - Parameters:
    ///   - threadId: The root of the thread to send it to.
    ///   - formattedText: The text as HTML.
    /// - Returns: The event's id.
    public func sendTextMessage(
        toRoom roomId: String, threadId: String? = nil, text: String, formattedText: String? = nil,
        transactionId: String? = nil
    ) async throws -> String {
        try await sendMessage(
            toRoom: roomId, content: Self.text(text, html: formattedText, type: "m.text", threadId: threadId),
            transactionId: transactionId)
    }

    /// Sends an emote: an action of the user, shown after their name.
    ///
    /// - Parameters:
    ///   - threadId: The root of the thread to send it to.
    ///   - formattedText: The text as HTML.
    /// - Returns: The event's id.
    public func sendEmote(
        toRoom roomId: String, threadId: String? = nil, text: String, formattedText: String? = nil,
        transactionId: String? = nil
    ) async throws -> String {
        try await sendMessage(
            toRoom: roomId, content: Self.text(text, html: formattedText, type: "m.emote", threadId: threadId),
            transactionId: transactionId)
    }

    /// Sends a notice: text from a program, to which other programs don't react.
    ///
    /// - Parameters:
    ///   - threadId: The root of the thread to send it to.
    ///   - formattedText: The text as HTML.
    /// - Returns: The event's id.
    public func sendNotice(
        toRoom roomId: String, threadId: String? = nil, text: String, formattedText: String? = nil,
        transactionId: String? = nil
    ) async throws -> String {
        try await sendMessage(
            toRoom: roomId, content: Self.text(text, html: formattedText, type: "m.notice", threadId: threadId),
            transactionId: transactionId)
    }

    private static func text(_ body: String, html: String?, type: String, threadId: String?) -> EncodedJSON {
        let content = MessageContent.text(body, html: html, type: type)
        return EncodedJSON(threadId.map { MessageContent.inThread($0, lastEventId: nil, content) } ?? content)
    }

    /// Replaces the text of one of the user's own messages.
    ///
    /// - Parameters:
    ///   - eventId: The original message, not an edit of it.
    ///   - formattedText: The text as HTML.
    /// - Returns: The id of the edit.
    public func sendEdit(
        ofEvent eventId: String, inRoom roomId: String, text: String, formattedText: String? = nil,
        transactionId: String? = nil
    ) async throws -> String {
        let content = MessageContent.edit(of: eventId, to: MessageContent.text(text, html: formattedText))
        return try await sendMessage(toRoom: roomId, content: EncodedJSON(content), transactionId: transactionId)
    }

    /// Replies to a message, in its thread if it has one, and mentions its sender.
    ///
    /// - Parameter formattedText: The text as HTML.
    /// - Returns: The event's id.
    public func sendReply(
        to event: MXEvent, inRoom roomId: String, text: String, formattedText: String? = nil,
        transactionId: String? = nil
    ) async throws -> String {
        let content = MessageContent.reply(
            to: event, with: MessageContent.text(text, html: formattedText), currentUser: try userId())
        return try await sendMessage(toRoom: roomId, content: EncodedJSON(content), transactionId: transactionId)
    }

    /// Reacts to an event. Repeating a reaction fails with `M_DUPLICATE_ANNOTATION`.
    ///
    /// - Parameter transactionId: Identifies repeats of this request; `nil` generates one.
    /// - Returns: The event's id.
    public func sendReaction(
        _ key: String, toEvent eventId: String, inRoom roomId: String, transactionId: String? = nil
    ) async throws -> String {
        try await sendEvent(
            toRoom: roomId, eventType: .reaction,
            content: EncodedJSON(MessageContent.reaction(key, to: eventId)),
            transactionId: transactionId)
    }

    /// Removes an event's content for everyone.
    ///
    /// - Returns: The id of the redaction.
    public func redactEvent(
        _ eventId: String, inRoom roomId: String, reason: String? = nil, transactionId: String? = nil
    ) async throws -> String {
        let transaction = transactionId ?? Self.newTransactionId()
        var call = APICall(
            .put, "v3/rooms/\(roomId)/redact/\(eventId)/\(transaction)", json: ["reason": reason])
        call.isRepeatable = true
        return try await text("event_id", of: call)
    }

    /// Sends messages directly to devices, outside of rooms.
    ///
    /// - Parameter messages: The contents by user and device; `*` addresses all devices of a user.
    public func sendToDevice(eventType: String, messages: [String: Any], transactionId: String? = nil) async throws {
        try await sendToDevice(eventType: eventType, messages: EncodedJSON(messages), transactionId: transactionId)
    }

    package func sendToDevice(eventType: String, messages: EncodedJSON, transactionId: String?) async throws {
        let transaction = transactionId ?? Self.newTransactionId()
        let body = EncodedJSON(["messages": JSONView(try messages.bytes.get())?.foundation ?? [:]])
        try await perform(
            APICall(.put, "v3/sendToDevice/\(eventType)/\(transaction)", body: body, hasTransactionId: true))
    }
}
