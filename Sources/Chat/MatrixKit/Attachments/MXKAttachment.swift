import Basics
public import Foundation
import JSONBytes
import MatrixProtocol
public import MatrixSDK

/// What kind of file a message has.
public enum MXKAttachmentType: UInt, Sendable {
    /// None that is known.
    case undefined
    /// A picture.
    case image
    /// A recording.
    case audio
    /// Something spoken.
    case voiceMessage
    /// A film.
    case video
    /// A place; it has no file.
    case location
    /// Any other file.
    case file
    /// A picture that is a message.
    case sticker
}

/// The file of a message.
///
/// It is downloaded when somebody asks, once for all who do, and kept in a cache of files that all attachments share. Every call
/// with closures calls exactly one of them, once, on the main actor; after ``destroy()`` that is the failure, with `cancelled`.
@MainActor
open class MXKAttachment {
    /// What kind it is.
    public let type: MXKAttachmentType
    /// The message.
    public let eventId: String?
    /// Where the message was said.
    public let eventRoomId: String?
    /// Where the homeserver has it, an `mxc:` address.
    public let contentURL: String?
    /// What the sender says about it.
    public let contentInfo: [String: Any]?
    /// As the sender calls it. Not fit for a path: ``save(to:)`` makes it so.
    public let originalFileName: String?
    /// Whether it is encrypted.
    public let isEncrypted: Bool
    /// A blurred picture in a few letters, to show until the picture is there.
    public let blurhash: String?
    /// What the sender says beside it.
    public let caption: String?
    /// Told how far a download has come, as long as somebody waits for it.
    public var onProgress: ((MXTransferProgress) -> Void)?
    /// Bytes of all files in the cache. Larger files can be saved only. Usually 256 MiB.
    public static var maximumCacheSize: Int {
        get { MediaCache.shared.maximumSize }
        set { MediaCache.shared.maximumSize = newValue }
    }
    let event: MXEvent
    weak var mxSession: MXSession?
    var cache = MediaCache.shared
    var isDestroyed = false
    var running: [UUID: Task<Void, Never>] = [:]

    /// Nil if the message has no file that can be shown.
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

    // MARK: Its bytes

    /// As ``thumbnail()``.
    open func getThumbnail(
        _ onSuccess: ((MXKAttachment, Data) -> Void)?, failure: ((MXKAttachment, (any Error)?) -> Void)?
    ) {
        start({ onSuccess?(self, $0) }, { failure?(self, $0) }) { try await $0.thumbnail() }
    }

    /// As ``data()``.
    open func getData(_ onSuccess: ((Data) -> Void)?, failure: (((any Error)?) -> Void)?) {
        start({ onSuccess?($0) }, { failure?($0) }) { try await $0.data() }
    }

    /// As ``decryptToTempFile()``.
    open func decrypt(toTempFile onSuccess: ((String) -> Void)?, failure: (((any Error)?) -> Void)?) {
        start({ onSuccess?($0) }, { failure?($0) }) { try await $0.decryptToTempFile() }
    }

    /// Puts the file into a folder, under the name that the sender gave it as far as that can be one. No file is replaced: a
    /// number makes the name new. Nobody may execute it.
    ///
    /// - Returns: Where it is.
    open func save(to folder: URL) async throws -> URL { try await saved(in: folder) }

    /// Nobody needs it any more: what it waits for ends, unless others wait for the same.
    open func destroy() {
        isDestroyed = true
        onProgress = nil
        for task in running.values { task.cancel() }
    }

    /// Deletes decrypted files that processes of this user have left which were killed. A program that shows attachments calls
    /// it when it starts; otherwise they go with the next encrypted attachment that is shown.
    public static func deleteOrphans() { PrivateTemporaryFolder.removeOrphans() }

    /// Deletes every file that was downloaded.
    public static func clearCache() { MediaCache.shared.clear() }
}
