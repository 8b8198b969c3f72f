import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// A transaction id that no other request has. One for each message, kept across retries and restarts.
    public static func newTransactionId() -> String { UUID().uuidString }

    /// Sends an event into a room. Into one that is encrypted nothing is sent but reactions, and what is encrypted already:
    /// that fails with `encryptionNotAvailable`. So do all calls below.
    ///
    /// - Parameters:
    ///   - content: What JSON can express.
    ///   - transactionId: The server takes a repeat with the same one for the same event; nil makes one.
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
        _ = try content.bytes.get()  // what cannot be sent costs no question
        try await requirePlain(roomId, for: eventType)
        return try await sendCheckedEvent(
            toRoom: roomId, eventType: eventType, content: content,
            transactionId: transactionId ?? Self.newTransactionId())
    }

    /// The same by a caller who knows that the room takes it as it is.
    func sendCheckedEvent(
        toRoom roomId: String, eventType: MXEventType, content: EncodedJSON, transactionId transaction: String
    ) async throws -> String {
        try await text(
            "event_id",
            of: APICall(
                .put, "v3/rooms/\(roomId)/send/\(eventType.identifier)/\(transaction)", body: content,
                hasTransactionId: true))
    }

    /// Sends an event whose content is JSON text already, as a store keeps it.
    ///
    /// - Parameter transactionId: The server takes a repeat with the same one for the same request; nil makes one.
    /// - Returns: The event's id.
    public func sendEvent(
        toRoom roomId: String, eventType: MXEventType, contentJSON: String, transactionId: String? = nil
    ) async throws -> String {
        try await sendEvent(
            toRoom: roomId, eventType: eventType, content: EncodedJSON(text: Array(contentJSON.utf8)),
            transactionId: transactionId)
    }

    /// Sends a message: an event of type `m.room.message`.
    ///
    /// - Parameter transactionId: The server takes a repeat with the same one for the same request; nil makes one.
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

    /// The same by a caller who has just asked ``requirePlain(_:for:)``.
    package func sendCheckedMessage(
        toRoom roomId: String, content: [String: Any], transactionId: String?
    ) async throws -> String {
        try await sendCheckedEvent(
            toRoom: roomId, eventType: .roomMessage, content: EncodedJSON(content),
            transactionId: transactionId ?? Self.newTransactionId())
    }

    /// Sends text.
    ///
    /// - Parameters:
    ///   - threadId: The root of a thread that it belongs to.
    ///   - formattedText: The same as HTML.
    /// - Returns: The event's id.
    public func sendTextMessage(
        toRoom roomId: String, threadId: String? = nil, text: String, formattedText: String? = nil,
        transactionId: String? = nil
    ) async throws -> String {
        try await sendMessage(
            toRoom: roomId, content: Self.text(text, html: formattedText, type: "m.text", threadId: threadId),
            transactionId: transactionId)
    }

    /// Sends what the user does, shown after the name.
    ///
    /// - Parameters:
    ///   - threadId: The root of a thread that it belongs to.
    ///   - formattedText: The same as HTML.
    /// - Returns: The event's id.
    public func sendEmote(
        toRoom roomId: String, threadId: String? = nil, text: String, formattedText: String? = nil,
        transactionId: String? = nil
    ) async throws -> String {
        try await sendMessage(
            toRoom: roomId, content: Self.text(text, html: formattedText, type: "m.emote", threadId: threadId),
            transactionId: transactionId)
    }

    /// Sends text of a program's, to which no other program reacts.
    ///
    /// - Parameters:
    ///   - threadId: The root of a thread that it belongs to.
    ///   - formattedText: The same as HTML.
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

    /// Puts other text in the place of a message of one's own.
    ///
    /// - Parameters:
    ///   - eventId: The message as it was first sent, not an edit of it.
    ///   - formattedText: The same as HTML.
    /// - Returns: The id of the edit.
    public func sendEdit(
        ofEvent eventId: String, inRoom roomId: String, text: String, formattedText: String? = nil,
        transactionId: String? = nil
    ) async throws -> String {
        let content = MessageContent.edit(of: eventId, to: MessageContent.text(text, html: formattedText))
        return try await sendMessage(toRoom: roomId, content: EncodedJSON(content), transactionId: transactionId)
    }

    /// Answers a message, in the thread where it is, and mentions its sender.
    ///
    /// - Parameter formattedText: The same as HTML.
    /// - Returns: The event's id.
    public func sendReply(
        to event: MXEvent, inRoom roomId: String, text: String, formattedText: String? = nil,
        transactionId: String? = nil
    ) async throws -> String {
        let content = MessageContent.reply(
            to: event, with: MessageContent.text(text, html: formattedText), currentUser: try userId())
        return try await sendMessage(toRoom: roomId, content: EncodedJSON(content), transactionId: transactionId)
    }

    /// Reacts to an event. The same reaction twice is `M_DUPLICATE_ANNOTATION`.
    ///
    /// - Parameter transactionId: The server takes a repeat with the same one for the same request; nil makes one.
    /// - Returns: The event's id.
    public func sendReaction(
        _ key: String, toEvent eventId: String, inRoom roomId: String, transactionId: String? = nil
    ) async throws -> String {
        try await sendEvent(
            toRoom: roomId, eventType: .reaction,
            content: EncodedJSON(MessageContent.reaction(key, to: eventId)),
            transactionId: transactionId)
    }

    /// Takes an event's content away, for everybody.
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

    /// Sends to devices, past rooms.
    ///
    /// - Parameter messages: Contents by user and device; `*` is all devices of a user.
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
