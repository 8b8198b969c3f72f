public import Foundation
import MatrixProtocol
import Basics

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
    func sendMediaOnce(_ file: URL, mimeType: String, caption: String?) async throws -> String {
        let media = OutgoingMedia(
            file, type: MediaType(mime: mimeType).kind, mimeType: mimeType, caption: caption, thumbnail: nil,
            threadId: nil)
        return try await send(try enqueue(media), media, keepsFailed: false, nil)
    }

    private func enqueue(_ media: OutgoingMedia) throws -> SendQueue.Entry {
        try enqueue(.roomMessage, try media.content(url: nil, thumbnail: nil))
    }

    private func send(
        _ entry: SendQueue.Entry, _ media: OutgoingMedia, keepsFailed: Bool = true,
        _ onProgress: (@Sendable (MXTransferProgress) -> Void)?
    ) async throws -> String {
        let rest = core.rest
        return try await sendQueue.send(entry, keepsFailed: keepsFailed) { event in
            var event = event
            event.content = try await media.upload(through: rest, onProgress)
            return event
        }
    }

    // MARK: With callbacks

    /// Uploads an image and sends it.
    ///
    /// - Parameters:
    ///   - size: In pixels; nil takes what the file says.
    ///   - progress: Of the upload, on the session's completion queue.
    @discardableResult
    public func sendImage(
        _ file: URL, mimeType: String, size: CGSize? = nil, caption: String? = nil, thumbnail: URL? = nil,
        threadId: String? = nil, progress: ((Progress) -> Void)? = nil,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        var media = OutgoingMedia(
            file, type: .image, mimeType: mimeType, caption: caption, thumbnail: thumbnail, threadId: threadId)
        if let size { media.size = PixelSize(size) }
        return send(media, progress, completion)
    }

    /// Uploads a video and sends it.
    ///
    /// - Parameters:
    ///   - thumbnail: An image file.
    ///   - duration: In seconds; NaN is unknown.
    ///   - progress: Of the upload, on the session's completion queue.
    @discardableResult
    public func sendVideo(
        _ file: URL, thumbnail: URL? = nil, mimeType: String = "video/mp4", duration: TimeInterval? = nil,
        caption: String? = nil, threadId: String? = nil, progress: ((Progress) -> Void)? = nil,
        completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        var media = OutgoingMedia(
            file, type: .video, mimeType: mimeType, caption: caption, thumbnail: thumbnail, threadId: threadId)
        media.duration = duration.flatMap { .bounded(seconds: $0) }
        return send(media, progress, completion)
    }

    /// Uploads a file and sends it, as a file whatever its type is.
    ///
    /// - Parameter progress: Of the upload, on the session's completion queue.
    @discardableResult
    public func sendFile(
        _ file: URL, mimeType: String, caption: String? = nil, threadId: String? = nil,
        progress: ((Progress) -> Void)? = nil, completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        let media = OutgoingMedia(
            file, type: .file, mimeType: mimeType, caption: caption, thumbnail: nil, threadId: threadId)
        return send(media, progress, completion)
    }

    /// Uploads a recording and sends it.
    ///
    /// - Parameters:
    ///   - duration: In seconds; NaN is unknown.
    ///   - progress: Of the upload, on the session's completion queue.
    @discardableResult
    public func sendAudioFile(
        _ file: URL, mimeType: String, duration: TimeInterval? = nil, caption: String? = nil, threadId: String? = nil,
        progress: ((Progress) -> Void)? = nil, completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        var media = OutgoingMedia(
            file, type: .audio, mimeType: mimeType, caption: caption, thumbnail: nil, threadId: threadId)
        media.duration = duration.flatMap { .bounded(seconds: $0) }
        return send(media, progress, completion)
    }

    private func send(
        _ media: OutgoingMedia, _ progress: ((Progress) -> Void)?, _ completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        let entry = Result { try enqueue(media) }
        return MXHTTPOperation.start(on: core.rest.completionQueue) { (report: MXProgress<String?>) in
            switch report {
            case .progress(let done): progress?(done)
            case .success(let eventId): completion(.success(eventId))
            case .failure(let error): completion(.failure(error))
            }
        } _: { onProgress in
            try await self.send(entry.get(), media, onProgress)
        }
    }
}
