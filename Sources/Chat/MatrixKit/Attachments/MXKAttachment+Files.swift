import Basics
public import Foundation
import Glibc
import JSONBytes
import MatrixProtocol
import MatrixSDK

/// The bytes of an attachment.
extension MXKAttachment {
    /// An encrypted file without a picture of its own is shown as it is, up to this many bytes.
    private nonisolated static let largestPictureOfItself = 1 << 20
    /// Pixels of the thumbnails that are asked for.
    private static let thumbnailSize = (width: 320, height: 240)

    private enum Thumbnail {
        /// Made by the server, of the address.
        case server(String)
        /// Encrypted, in the message.
        case encrypted
        /// The file is its own.
        case file
    }

    private var thumbnail: Thumbnail? {
        guard let contentURL else { return nil }
        switch type {
        case .image, .sticker, .video: break
        case .audio, .voiceMessage, .file, .location, .undefined: return nil
        }
        let info = event.contentJSON["info"]
        if isEncrypted {
            if info?["thumbnail_file"]?["url"]?.string != nil { return .encrypted }
            let size = info?["size"]?.wholePart
            return type != .video && size.map { $0 <= Self.largestPictureOfItself } == true ? .file : nil
        }
        if let address = mxcThumbnailURI { return .server(address) }
        return type == .video ? nil : .server(contentURL)
    }

    // MARK: What is known of the thumbnail

    /// Where the homeserver has the picture that the sender made of it, an `mxc:` address; nil if there is none.
    public var mxcThumbnailURI: String? {
        let info = event.contentJSON["info"]
        let address = info?["thumbnail_file"]?["url"]?.string ?? info?["thumbnail_url"]?.string
        return address.flatMap { MXContentURI($0) == nil ? nil : $0 }
    }

    /// What the sender says about that picture.
    public var thumbnailInfo: [String: Any]? {
        event.contentJSON["info"]?["thumbnail_info"]?.foundation as? [String: Any]
    }

    /// What kind of picture that is.
    public var thumbnailMimeType: String? { event.contentJSON["info"]?["thumbnail_info"]?["mimetype"]?.string }

    // MARK: Places

    /// Where the file is in the cache; nil if it is not there. What was encrypted is there as long as the process lives.
    public var cacheFilePath: String? { path(place) }

    /// Where the thumbnail is in the cache; nil if it is not there.
    public var thumbnailCachePath: String? { path(thumbnailPlace) }

    private func path(_ place: URL?) -> String? {
        guard let place, cache.has(place) else { return nil }
        return place.path
    }

    private var place: URL? {
        guard let contentURL else { return nil }
        let keys = isEncrypted ? event.contentJSON["file"]?.compactText : nil
        return cache.place(of: [contentURL, keys ?? ""], isSecret: isEncrypted)
    }

    private var thumbnailPlace: URL? {
        switch thumbnail {
        case .server(let address):
            let (width, height) = Self.thumbnailSize
            return cache.place(of: [address, "\(width)x\(height)"], isSecret: false)
        case .encrypted:
            let keys = event.contentJSON["info"]?["thumbnail_file"]?.compactText
            return cache.place(of: ["thumbnail", keys ?? ""], isSecret: true)
        case .file: return place
        case nil: return nil
        }
    }

    // MARK: Downloading

    private func requireClient() throws -> MXRestClient {
        if isDestroyed { throw MatrixError(.cancelled, "the attachment is not used any more: nothing was downloaded") }
        guard let client = mxSession?.matrixRestClient else {
            throw MatrixError(.cancelled, "the session of the attachment is gone: nothing was downloaded")
        }
        return client
    }

    private func requirePlace(_ place: URL?, _ what: String) throws -> URL {
        guard let place else {
            throw MatrixError(.invalidArgument, "the event \(event.eventId) has no \(what)", roomId: event.roomId)
        }
        return place
    }

    private func tell(_ progress: MXTransferProgress) {
        if !isDestroyed { onProgress?(progress) }
    }

    /// The file in the cache, downloaded if it is not there.
    private func file() async throws -> URL {
        let (client, event) = (try requireClient(), event)
        let place = try requirePlace(place, "file")
        try await cache.file(place, onProgress: { [weak self] in self?.tell($0) }) { file, maximumSize, onProgress in
            try await client.downloadMedia(of: event, to: file, maximumSize: maximumSize, onProgress: onProgress)
        }
        return place
    }

    /// A small picture of it: what the server makes of a clear picture; of an encrypted one what the sender sent along, or the
    /// picture itself up to 1 MiB.
    ///
    /// - Throws: Also if there is none.
    public func thumbnail() async throws -> Data {
        let (client, event) = (try requireClient(), event)
        let place = try requirePlace(thumbnailPlace, "thumbnail")
        guard let thumbnail else { return Data() }
        let (width, height) = Self.thumbnailSize
        try await cache.file(place, onProgress: { [weak self] in self?.tell($0) }) { file, maximumSize, onProgress in
            switch thumbnail {
            case .server(let address):
                try await client.downloadThumbnail(address, to: file, width: width, height: height)
            case .encrypted:
                try await client.downloadMedia(
                    of: event, isThumbnail: true, to: file, maximumSize: maximumSize, onProgress: onProgress)
            case .file:
                // The sender may say less than it has.
                let bound = min(maximumSize, Self.largestPictureOfItself)
                try await client.downloadMedia(of: event, to: file, maximumSize: bound, onProgress: onProgress)
            }
        }
        return try await MediaCache.data(place)
    }

    /// All of the file, decrypted. What is larger than ``maximumCacheSize`` can be saved only.
    public func data() async throws -> Data { try await MediaCache.data(try await file()) }

    /// A copy for another program, under the name that the sender gave it as far as that can be one. It is deleted when the
    /// process exits.
    ///
    /// - Returns: Its path.
    public func decryptToTempFile() async throws -> String {
        try await cache.copyForOthers(try await file(), name: fileName).path
    }

    /// What it is called in a folder: the sender's name as far as that can be one, else `file`.
    public var fileName: String { originalFileName.flatMap { FileName.sanitised($0) } ?? "file" }

    /// Puts the file into a folder, under the name that the sender gave it as far as that can be one. No file is replaced: a
    /// number makes the name new. Nobody may execute it.
    func saved(in folder: URL) async throws -> URL {
        let (client, event, name) = (try requireClient(), event, fileName)
        let part = folder.appending(path: ".\(UUID().uuidString).part")
        do {
            if let place, cache.has(place) {
                try await MediaCache.copy(place, to: part)
            } else {
                try await client.downloadMedia(of: event, to: part, maximumSize: .max) { [weak self] progress in
                    Task { @MainActor in self?.tell(progress) }
                }
            }
            return try Self.place(part, in: folder, name: name)
        } catch {
            unlink(part.path)
            throw error
        }
    }

    private static func place(_ part: URL, in folder: URL, name: String) throws -> URL {
        guard FilePlacement.setMode(of: part.path, replacing: nil) else { throw failure(part) }
        for number in 0..<10_000 {
            let file = folder.appending(path: FileName.numbered(name, number))
            if FilePlacement.move(part.path, toNew: file.path) { return file }
            guard errno == EEXIST else { throw failure(file) }
        }
        throw MatrixError(.file, "\(folder.path) has too many files of this name: the attachment was not saved")
    }

    private static func failure(_ file: URL) -> MatrixError {
        MatrixError(.file, "\(file.path) cannot be made: \(String(cString: strerror(errno)))")
    }

    /// Runs until it is done, or the attachment is destroyed.
    func start<Value: Sendable>(
        _ success: @escaping (Value) -> Void, _ failure: @escaping ((any Error)?) -> Void,
        _ work: @escaping @MainActor (MXKAttachment) async throws -> Value
    ) {
        let succeeded = MainCallback<Value>(success)
        let failed = MainCallback<(any Error)?>(failure)
        let id = UUID()
        running[id] = Task {
            let result: Result<Value, any Error>
            do {
                result = .success(try await work(self))
            } catch {
                result = .failure(error)
            }
            self.running[id] = nil
            switch result {
            case .success(let value) where !self.isDestroyed: succeeded(value)
            case .success, .failure(is CancellationError):
                failed(MatrixError(.cancelled, "the attachment is not used any more"))
            case .failure(let error): failed(error)
            }
        }
    }
}
