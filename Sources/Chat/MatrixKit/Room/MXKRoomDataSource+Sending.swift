public import Foundation
public import MatrixProtocol
import MatrixSDK

/// Sends messages. A local echo appears at once: see ``MatrixProtocol/MXEvent/sentState``.
extension MXKRoomDataSource {
    func requireRoom() throws -> MXRoom {
        guard let room else {
            throw MatrixError(.roomNotFound, "room \(roomId) is not known: nothing was sent", roomId: roomId)
        }
        return room
    }

    // MARK: Messages

    /// Sends text: Markdown, and `/me` for emotes.
    ///
    /// - Parameter mentions: The users named in the text. They are notified, and other clients show their names as
    ///   pills.
    /// - Returns: The event id from the homeserver.
    @discardableResult
    public func sendTextMessage(_ text: String, mentions: [MXMention] = []) async throws -> String {
        let text = text.replacing("\0", with: "")
        return try await requireRoom().sendEvent(
            .roomMessage, content: inThread(MessageContent.typed(text, naming: mentions)))
    }

    /// Returns the content, addressed to the thread if this is one.
    private func inThread(_ content: [String: Any]) -> [String: Any] {
        guard let threadId else { return content }
        // Clients without thread support show it as a reply to the newest message.
        return MessageContent.inThread(threadId, lastEventId: newestArrivedEvent?.eventId, content)
    }

    /// Replies to a message.
    ///
    /// - Parameter mentions: The users named in the text, apart from the sender of the message.
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

    /// Edits a text message of the user.
    ///
    /// - Parameter mentions: The users named in the new text. Those not mentioned in the old one are notified.
    public func replaceTextMessage(
        ofEventWithId eventId: String, withTextMessage text: String, mentions: [MXMention] = []
    ) async throws {
        try await requireRoom().editMessage(eventId, markdown: text, mentions: mentions)
    }

    /// Returns the users named in the current text of an event.
    public func mentions(in event: MXEvent) -> [MXMention] {
        guard let text = (try? eventFormatterInUse.text(from: event, with: roomState)) ?? nil else { return [] }
        return text.blocks.flatMap(\.runs).compactMap { run in
            guard case .user(let userId) = run.style.pill, !run.text.hasPrefix("@") else { return nil }
            return MXMention(userId: userId, name: run.text)
        }
    }

    // MARK: Files

    /// Sends a file. Its type determines the kind of message.
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

    /// - Parameter progress: May arrive after the upload has ended.
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
