import Basics
public import MatrixSDK

/// Callback variants: sending files.
extension MXRoom {
    /// Uploads an image and sends it.
    ///
    /// - Parameters:
    ///   - size: The size in pixels; `nil` reads it from the file.
    ///   - progress: Reports the upload on the session's completion queue.
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
    ///   - duration: Seconds; NaN if unknown.
    ///   - progress: Reports the upload on the session's completion queue.
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

    /// Uploads a file and sends it as a file, whatever its type.
    ///
    /// - Parameter progress: Reports the upload on the session's completion queue.
    @discardableResult
    public func sendFile(
        _ file: URL, mimeType: String, caption: String? = nil, threadId: String? = nil,
        progress: ((Progress) -> Void)? = nil, completion: @escaping (MXResponse<String?>) -> Void
    ) -> MXHTTPOperation {
        let media = OutgoingMedia(
            file, type: .file, mimeType: mimeType, caption: caption, thumbnail: nil, threadId: threadId)
        return send(media, progress, completion)
    }

    /// Uploads an audio recording and sends it.
    ///
    /// - Parameters:
    ///   - duration: Seconds; NaN if unknown.
    ///   - progress: Reports the upload on the session's completion queue.
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
        let send = Result { try queuedMedia(media) }
        return MXHTTPOperation.start(in: rest.completions) { (report: MXProgress<String?>) in
            switch report {
            case .progress(let done): progress?(done)
            case .success(let eventId): completion(.success(eventId))
            case .failure(let error): completion(.failure(error))
            }
        } _: { onProgress in
            try await send.get()(onProgress)
        }
    }
}
