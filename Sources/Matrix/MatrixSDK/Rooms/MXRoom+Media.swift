public import Foundation
import MatrixProtocol

/// Sending files. A file takes its place in the order of the calls: later messages wait for its upload.
extension MXRoom {
    /// Uploads a file and sends it as an image, video, audio or file, by its type.
    ///
    /// - Parameters:
    ///   - file: A local file.
    ///   - mimeType: The type, such as `image/png`.
    ///   - caption: A caption in Markdown.
    ///   - onProgress: Called on any thread occasionally during the upload.
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

    /// Like `sendMedia`, but keeps nothing if the file is refused or cannot be uploaded.
    package func sendMediaOnce(
        _ file: URL, mimeType: String, caption: String?, onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> String {
        let media = OutgoingMedia(
            file, type: MediaType(mime: mimeType).kind, mimeType: mimeType, caption: caption, thumbnail: nil,
            threadId: nil)
        return try await send(try enqueue(media), media, keepsFailed: false, onProgress)
    }

    /// Adds a file's message to the queue, before returning.
    ///
    /// - Returns: A closure that uploads the file and sends the message.
    package func queuedMedia(
        _ media: OutgoingMedia
    ) throws -> @Sendable (_ onProgress: (@Sendable (MXTransferProgress) -> Void)?) async throws -> String {
        let entry = try enqueue(media)
        return { onProgress in try await self.send(entry, media, onProgress) }
    }

    /// Adds a file's message to the queue, before returning.
    ///
    /// - Returns: The message's transaction id, which identifies its echo, and a closure that uploads the file and
    ///   sends the message.
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
