public import Foundation
public import MatrixProtocol
import MatrixSDK

/// Sending. What is sent is there at once: see ``MatrixProtocol/MXEvent/sentState``.
extension MXKRoomDataSource {
    func requireRoom() throws -> MXRoom {
        guard let room else {
            throw MatrixError(.roomNotFound, "room \(roomId) is not known: nothing was sent", roomId: roomId)
        }
        return room
    }

    // MARK: Messages

    /// Sends text: Markdown, and `/me` for what the user does.
    ///
    /// - Parameter mentions: Users whom the text names: they are notified, and other clients show the names as pills.
    /// - Returns: The id that the homeserver has given it.
    @discardableResult
    public func sendTextMessage(_ text: String, mentions: [MXMention] = []) async throws -> String {
        let text = text.replacing("\0", with: "")
        return try await requireRoom().sendEvent(
            .roomMessage, content: inThread(MessageContent.typed(text, naming: mentions)))
    }

    /// The content, in the thread if this is one.
    private func inThread(_ content: [String: Any]) -> [String: Any] {
        guard let threadId else { return content }
        // For clients that know no threads it answers the newest message.
        return MessageContent.inThread(threadId, lastEventId: newestArrivedEvent?.eventId, content)
    }

    /// Answers a message.
    ///
    /// - Parameter mentions: Users whom the text names, beside the sender of the message.
    @discardableResult
    public func sendReply(
        toEventWithId eventIdToReply: String, withTextMessage text: String, mentions: [MXMention] = []
    ) async throws -> String {
        let room = try requireRoom()
        let event =
            if let known = event(withEventId: eventIdToReply) { known } else {
                try await room.event(withId: eventIdToReply)
            }
        let reply = room.replyContent(to: event, markdown: text, mentions: mentions)
        return try await room.sendEvent(.roomMessage, content: inThread(reply))
    }

    /// Changes a text of the user.
    ///
    /// - Parameter mentions: Users whom the new text names. Those whom the old one did not mention are notified.
    public func replaceTextMessage(
        ofEventWithId eventId: String, withTextMessage text: String, mentions: [MXMention] = []
    ) async throws {
        try await requireRoom().editMessage(eventId, markdown: text, mentions: mentions)
    }

    /// Users whom a text names, as it reads now.
    public func mentions(in event: MXEvent) -> [MXMention] {
        guard let text = (try? eventFormatterInUse.text(from: event, with: roomState)) ?? nil else { return [] }
        return text.blocks.flatMap(\.runs).compactMap { run in
            guard case .user(let userId) = run.style.pill, !run.text.hasPrefix("@") else { return nil }
            return MXMention(userId: userId, name: run.text)
        }
    }

    // MARK: Files

    /// Sends a file. What kind of message it is follows from its type.
    @discardableResult
    public func sendFile(_ file: URL, mimeType: String, caption: String? = nil) async throws -> String {
        let (transactionId, send) = try requireRoom().queuedFile(
            file, mimeType: mimeType, caption: caption, threadId: threadId)
        uploads[transactionId] = -1
        defer {
            uploads[transactionId] = nil
            showUpload(of: transactionId)
            report()
        }
        return try await send { progress in
            Task { @MainActor [weak self] in self?.uploaded(progress, of: transactionId) }
        }
    }

    /// - Parameter progress: It may come later than the end.
    private func uploaded(_ progress: MXTransferProgress, of transactionId: String) {
        guard let total = progress.total, total > 0, uploads[transactionId] != nil else { return }
        uploads[transactionId] = CGFloat(progress.completed) / CGFloat(total)
        showUpload(of: transactionId)
        report()
    }

    func showUpload(of transactionId: String) {
        guard let eventId = echoes[transactionId], let bubble = bubbleOf[eventId] as? MXKRoomBubbleCellData else {
            return
        }
        let progress = uploads[transactionId] ?? -1
        guard progress != bubble.uploadProgress else { return }
        bubble.uploadProgress = progress
        list.update(bubble)
    }
}
