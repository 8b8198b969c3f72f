import Basics
public import Foundation
import JSONBytes
import MatrixProtocol
public import MatrixSDK

/// The kind of a message's file.
public enum MXKAttachmentType: UInt, Sendable {
    /// An unknown kind.
    case undefined
    /// A picture.
    case image
    /// An audio recording.
    case audio
    /// A voice message.
    case voiceMessage
    /// A video.
    case video
    /// A location; it has no file.
    case location
    /// Any other file.
    case file
    /// A sticker.
    case sticker
}

/// The file of a message.
///
/// The file is downloaded on request, once for all callers, to a file cache that all attachments share. A method that
/// takes closures calls exactly one of them, once, on the main actor. After ``destroy()`` it calls `failure` with
/// `cancelled`.
@MainActor
open class MXKAttachment {
    /// The kind of file.
    public let type: MXKAttachmentType
    /// The id of the message.
    public let eventId: String?
    /// The room of the message.
    public let eventRoomId: String?
    /// The `mxc:` address of the file.
    public let contentURL: String?
    /// The sender's information about the file.
    public let contentInfo: [String: Any]?
    /// The name given by the sender. It is not safe as a path: ``save(to:)`` sanitises it.
    public let originalFileName: String?
    /// Whether the file is encrypted.
    public let isEncrypted: Bool
    /// A blurred preview in a short string, shown until the picture has loaded.
    public let blurhash: String?
    /// The sender's caption.
    public let caption: String?
    /// Called with the progress of a download while a caller is waiting for it.
    public var onProgress: ((MXTransferProgress) -> Void)?
    /// The maximum size of the cache, in bytes. Larger files can only be saved. The default is 256 MiB.
    public static var maximumCacheSize: Int {
        get { MediaCache.shared.maximumSize }
        set { MediaCache.shared.maximumSize = newValue }
    }
    let event: MXEvent
    weak var mxSession: MXSession?
    var cache = MediaCache.shared
    var isDestroyed = false
    var running: [UUID: Task<Void, Never>] = [:]

    /// Returns `nil` if the message has no file that can be shown.
    public init?(event: MXEvent, mxSession: MXSession?) {
        let kind = event.type == "m.sticker" ? "m.sticker" : event.contentJSON["msgtype"]?.string
        let content = MatrixMessageContent(event)
        guard let file = content.attachment else {
            guard case .location = content else { return nil }
            (type, eventId, eventRoomId) = (.location, event.eventId, event.roomId)
            (contentURL, contentInfo, originalFileName, isEncrypted, blurhash) = (nil, nil, nil, false, nil)
            caption = content.body
            (self.event, self.mxSession) = (event, mxSession)
            return
        }
        switch content {
        case .image: type = .image
        case .video: type = .video
        case .audio: type = .audio
        case .voice: type = .voiceMessage
        case .sticker: type = .sticker
        case .file: type = .file
        default: return nil
        }
        let encrypted = event.contentJSON["file"]?["url"]?.string
        guard kind != nil, let url = encrypted ?? event.contentJSON["url"]?.string, MXContentURI(url) != nil else {
            return nil
        }
        (eventId, eventRoomId, contentURL) = (event.eventId, event.roomId, url)
        contentInfo = event.contentJSON["info"]?.foundation as? [String: Any]
        originalFileName = file.fileName
        isEncrypted = encrypted != nil
        blurhash = event.contentJSON["info"]?["xyz.amorgan.blurhash"]?.string
        caption = file.caption
        (self.event, self.mxSession) = (event, mxSession)
    }

    // MARK: Content

    /// Like ``thumbnail()``, with closures.
    open func getThumbnail(
        _ onSuccess: ((MXKAttachment, Data) -> Void)?, failure: ((MXKAttachment, (any Error)?) -> Void)?
    ) {
        start({ onSuccess?(self, $0) }, { failure?(self, $0) }) { try await $0.thumbnail() }
    }

    /// Like ``data()``, with closures.
    open func getData(_ onSuccess: ((Data) -> Void)?, failure: (((any Error)?) -> Void)?) {
        start({ onSuccess?($0) }, { failure?($0) }) { try await $0.data() }
    }

    /// Like ``decryptToTempFile()``, with closures.
    open func decrypt(toTempFile onSuccess: ((String) -> Void)?, failure: (((any Error)?) -> Void)?) {
        start({ onSuccess?($0) }, { failure?($0) }) { try await $0.decryptToTempFile() }
    }

    /// Saves the file to a folder, named as the sender named it if that is a valid file name. An existing file is not
    /// replaced: a number makes the name unique. The file is not executable.
    ///
    /// - Returns: The location of the saved file.
    open func save(to folder: URL) async throws -> URL { try await saved(in: folder) }

    /// Discards the attachment. Its pending downloads end unless other callers are waiting for them.
    open func destroy() {
        isDestroyed = true
        onProgress = nil
        for task in running.values { task.cancel() }
    }

    /// Deletes decrypted files left behind by killed processes of this user. Call this method when a program that shows
    /// attachments starts. Otherwise these files are deleted when the next encrypted attachment is shown.
    public static func deleteOrphans() { PrivateTemporaryFolder.removeOrphans() }

    /// Deletes every downloaded file.
    public static func clearCache() { MediaCache.shared.clear() }
}
