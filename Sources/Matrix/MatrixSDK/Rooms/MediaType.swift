import Foundation

/// The type of a file, derived from its name.
package struct MediaType: Hashable, Sendable {
    package let mime: String

    private static let types: [String: String] = [
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
        "svg": "image/svg+xml", "avif": "image/avif", "heic": "image/heic", "bmp": "image/bmp",
        "mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm", "mov": "video/quicktime",
        "mkv": "video/x-matroska",
        "mp3": "audio/mpeg", "ogg": "audio/ogg", "opus": "audio/ogg", "m4a": "audio/mp4", "flac": "audio/flac",
        "wav": "audio/wav",
        "txt": "text/plain", "log": "text/plain", "md": "text/markdown", "csv": "text/csv", "html": "text/html",
        "json": "application/json", "pdf": "application/pdf", "zip": "application/zip", "gz": "application/gzip",
    ]

    package init(mime: String) { self.mime = mime }

    package init(of file: URL) {
        mime = Self.types[file.pathExtension.lowercased()] ?? "application/octet-stream"
    }

    /// The type of message that shows the file.
    package var messageType: String { kind.rawValue }

    var kind: OutgoingMedia.Kind {
        switch mime.prefix(while: { $0 != "/" }).lowercased() {
        case "image": .image
        case "video": .video
        case "audio": .audio
        default: .file
        }
    }
}
