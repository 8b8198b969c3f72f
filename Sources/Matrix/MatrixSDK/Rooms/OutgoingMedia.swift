import Foundation
import JSONBytes
import MatrixProtocol

package struct OutgoingMedia: Sendable {
    package enum Kind: String, Sendable {
        case image = "m.image"
        case video = "m.video"
        case audio = "m.audio"
        case file = "m.file"
    }

    let file: URL
    let type: Kind
    let mimeType: String
    let caption: String?
    let thumbnail: URL?
    let threadId: String?
    package var size: PixelSize?
    package var duration: Duration?

    package init(
        _ file: URL, type: Kind, mimeType: String, caption: String?, thumbnail: URL?, threadId: String?
    ) {
        (self.file, self.type, self.mimeType) = (file, type, mimeType)
        (self.caption, self.thumbnail, self.threadId) = (caption, thumbnail, threadId)
        if type == .image { size = PixelSize(ofImage: file) }
    }

    /// - Parameters:
    ///   - upload: The uploaded file; `nil` before the upload.
    ///   - small: The uploaded thumbnail; `nil` before the upload.
    /// - Throws: If the file does not exist.
    func content(_ upload: UploadedFile?, thumbnail small: UploadedFile?) throws -> [String: Any] {
        let info = MessageContent.MediaInfo(
            mimetype: mimeType, size: try MediaFile.size(of: file), width: size?.width, height: size?.height,
            duration: duration)
        var content = MessageContent.media(
            type.rawValue, url: "", filename: file.lastPathComponent, caption: caption, info: info)
        content["url"] = nil
        upload?.put(into: &content, "url", "file")
        if let thumbnail, let small {
            let size = PixelSize(ofImage: thumbnail)
            var fields = content["info"] as? [String: Any] ?? [:]
            fields["thumbnail_info"] =
                MessageContent.MediaInfo(
                    mimetype: Self.imageType(thumbnail), size: try MediaFile.size(of: thumbnail), width: size?.width,
                    height: size?.height
                ).content
            small.put(into: &fields, "thumbnail_url", "thumbnail_file")
            content["info"] = fields
        }
        return threadId.map { MessageContent.inThread($0, lastEventId: nil, content) } ?? content
    }

    /// - Returns: The JSON text of the content, which refers to the uploads.
    func upload(
        through rest: MXRestClient, isEncrypted: Bool, _ onProgress: (@Sendable (MXTransferProgress) -> Void)?
    ) async throws -> String {
        var small: UploadedFile?
        if let thumbnail {
            small = try await rest.uploadFile(
                thumbnail, mimeType: Self.imageType(thumbnail), isEncrypted: isEncrypted)
        }
        let upload = try await rest.uploadFile(
            file, mimeType: mimeType, isEncrypted: isEncrypted, onProgress: onProgress)
        guard let text = MXOutgoingEvent.text(of: try content(upload, thumbnail: small)) else {
            throw MatrixError(.invalidArgument, "the content cannot be written as JSON")
        }
        return text
    }

}

extension OutgoingMedia {
    /// Returns a picture's type, by default JPEG.
    private static func imageType(_ file: URL) -> String {
        let type = MediaType(of: file)
        return type.kind == .image ? type.mime : "image/jpeg"
    }
}

extension MXOutgoingEvent {
    /// Whether this is a file's message, and the file has not reached the server.
    var lacksUpload: Bool { mediaContent.map { $0["url"] == nil && $0["file"] == nil } ?? false }

    /// Whether this is a file's message, and anyone can read the file.
    var hasClearUpload: Bool { mediaContent.map { $0["url"] != nil } ?? false }

    private var mediaContent: JSONView? {
        guard let content = JSONView(Array(content.utf8)), type == "m.room.message",
            let type = content["msgtype"]?.string, OutgoingMedia.Kind(rawValue: type) != nil
        else { return nil }
        return content
    }
}
