public import Foundation
import MatrixProtocol

/// Sending files. A file has its place in the order of the calls: messages behind it wait for its upload.
extension MXRoom {
    /// Uploads a file and sends it: as image, video, audio or file, by its type.
    ///
    /// - Parameters:
    ///   - file: A file here.
    ///   - mimeType: Such as `image/png`.
    ///   - caption: What is said about it, in Markdown.
    ///   - onProgress: Of the upload; called on any thread, now and then.
    /// - Returns: The event's id.
    @discardableResult
    public func sendMedia(
        _ file: URL, mimeType: String, caption: String? = nil, thumbnail: URL? = nil, threadId: String? = nil,
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> String {
        let media = OutgoingMedia(
            file, type: MediaType(mime: mimeType).kind, mimeType: mimeType, caption: caption, thumbnail: thumbnail,
            threadId: threadId)
        return try await send(try enqueue(media), media, onProgress)
    }

    /// The same, but nothing is left of it if it is refused or cannot be uploaded.
    package func sendMediaOnce(
        _ file: URL, mimeType: String, caption: String?, onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> String {
        let media = OutgoingMedia(
            file, type: MediaType(mime: mimeType).kind, mimeType: mimeType, caption: caption, thumbnail: nil,
            threadId: nil)
        return try await send(try enqueue(media), media, keepsFailed: false, onProgress)
    }

    /// Puts a file's message into the queue. Its place is taken when this returns.
    ///
    /// - Returns: Uploads the file and sends the message.
    package func queuedMedia(
        _ media: OutgoingMedia
    ) throws -> @Sendable (_ onProgress: (@Sendable (MXTransferProgress) -> Void)?) async throws -> String {
        let entry = try enqueue(media)
        return { onProgress in try await self.send(entry, media, onProgress) }
    }

    /// Puts a file's message into the queue. Its place is taken when this returns.
    ///
    /// - Returns: The transaction of the message, by which its echo is known, and what uploads the file and sends the message.
    package func queuedFile(
        _ file: URL, mimeType: String, caption: String?, threadId: String?
    ) throws -> (
        transactionId: String, send: @Sendable (@escaping @Sendable (MXTransferProgress) -> Void) async throws -> String
    ) {
        let media = OutgoingMedia(
            file, type: MediaType(mime: mimeType).kind, mimeType: mimeType, caption: caption, thumbnail: nil,
            threadId: threadId)
        let entry = try enqueue(media)
        return (entry.event.transactionId, { onProgress in try await self.send(entry, media, onProgress) })
    }

    private func enqueue(_ media: OutgoingMedia) throws -> SendQueue.Entry {
        try enqueue(.roomMessage, try media.content(nil, thumbnail: nil))
    }

    private func send(
        _ entry: SendQueue.Entry, _ media: OutgoingMedia, keepsFailed: Bool = true,
        _ onProgress: (@Sendable (MXTransferProgress) -> Void)?
    ) async throws -> String {
        let rest = core.rest
        return try await sendQueue.send(entry, keepsFailed: keepsFailed) { event, isEncrypted in
            var event = event
            event.content = try await media.upload(through: rest, isEncrypted: isEncrypted, onProgress)
            return event
        }
    }
}
