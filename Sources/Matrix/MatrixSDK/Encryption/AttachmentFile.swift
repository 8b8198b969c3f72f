import Basics
import CurlTransport
public import Foundation
import JSONBytes
import MatrixEncryption
public import MatrixProtocol

/// Encrypts and decrypts files of encrypted rooms piece by piece: they may be larger than memory.
enum AttachmentFile {
    private static let pieceSize = 1 << 20

    /// Encrypts a file into a new one that only its owner can read, and deletes it after `body` has used it.
    static func encrypted<Value: Sendable>(
        _ file: URL, _ body: @Sendable (_ ciphertext: URL) async throws -> Value
    ) async throws -> (Value, EncryptedFile) {
        let ciphertext = FileManager.default.temporaryDirectory.appending(path: "matrix-upload-" + UUID().uuidString)
        defer { unlink(ciphertext.path) }
        let encrypted = try encrypt(file, to: ciphertext)
        return (try await body(ciphertext), encrypted)
    }

    private static func encrypt(_ file: URL, to ciphertext: URL) throws -> EncryptedFile {
        let (source, target) = (try opened(file), try made(ciphertext))
        defer { for handle in [source, target] { try? handle.close() } }
        var encryptor = AttachmentEncryptor(random: .system)
        while let piece = try source.read(upToCount: pieceSize), !piece.isEmpty {
            try target.write(contentsOf: encryptor.encrypt(Array(piece)))
        }
        return encryptor.finish()
    }

    /// Decrypts a download. Outputs nothing unless the entire file is what was sent.
    ///
    /// - Parameter clear: The decrypted file. Created anew, readable only by its owner.
    static func decrypt(_ ciphertext: URL, _ file: EncryptedFile, to clear: URL) throws {
        let source = try opened(ciphertext)
        defer { try? source.close() }
        var check = AttachmentCheck(of: file)
        while let piece = try source.read(upToCount: pieceSize), !piece.isEmpty { check.update(Array(piece)) }
        var decryptor: AttachmentDecryptor
        do throws(EncryptionError) {
            decryptor = try check.finish()
        } catch {
            throw MatrixError(
                .badResponse, "the file is not what its sender has encrypted (damaged or replaced): it was not kept")
        }
        unlink(clear.path)
        let target = try made(clear)
        defer { try? target.close() }
        try source.seek(toOffset: 0)
        while let piece = try source.read(upToCount: pieceSize), !piece.isEmpty {
            try target.write(contentsOf: decryptor.decrypt(Array(piece)))
        }
    }

    private static func opened(_ file: URL) throws -> FileHandle {
        do {
            return try FileHandle(forReadingFrom: file)
        } catch {
            throw MatrixError(.file, "\(file.path) cannot be read: \(error.localizedDescription)")
        }
    }

    private static func made(_ file: URL) throws -> FileHandle {
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw MatrixError(.file, "\(file.path) cannot be made: \(String(cString: strerror(errno)))")
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

enum UploadedFile: Sendable {
    case plain(String)
    case encrypted(EncryptedFile)

    /// Adds the upload's URL, or everything needed to read it, to a content, under `url` or `file`.
    func put(into content: inout [String: Any], _ urlKey: String, _ fileKey: String) {
        switch self {
        case .plain(let url): content[urlKey] = url
        case .encrypted(let file):
            content[urlKey] = nil
            content[fileKey] = file.json.foundation
        }
    }
}

extension MXRestClient {
    /// Uploads a file for a room. If the room is encrypted, the homeserver learns only the file's size.
    func uploadFile(
        _ file: URL, mimeType: String, isEncrypted: Bool,
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> UploadedFile {
        guard isEncrypted else { return .plain(try await uploadFile(file, mimeType: mimeType, onProgress: onProgress)) }
        var (url, encrypted) = try await AttachmentFile.encrypted(file) { ciphertext in
            try await self.uploadWithoutName(ciphertext, onProgress)
        }
        encrypted.url = url
        return .encrypted(encrypted)
    }

    /// Downloads and decrypts the file of a message. It appears only when complete.
    ///
    /// - Parameter file: The destination, replaced if it exists.
    /// - Throws: `MatrixError` with code `badResponse` if the file is not what its sender encrypted.
    @discardableResult
    public func downloadMedia(
        of event: MXEvent, to file: URL, onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> MXDownload {
        try await download(MXAttachmentSource(of: event), to: .file(file), onProgress)
    }

    /// Downloads media into a folder, under its sender's name if that is a usable file name. Never replaces a file: a
    /// number makes the name unique.
    @discardableResult
    public func downloadMedia(
        of event: MXEvent, intoFolder folder: URL, onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> MXDownload {
        try await download(MXAttachmentSource(of: event), to: .folder(folder), onProgress)
    }

    /// Downloads media with a size limit, which its sender may have exceeded.
    ///
    /// - Parameters:
    ///   - isThumbnail: Whether to download the encrypted thumbnail instead.
    ///   - maximumSize: The limit in bytes.
    @discardableResult
    package func downloadMedia(
        of event: MXEvent, isThumbnail: Bool = false, to file: URL, maximumSize: Int,
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> MXDownload {
        let source = isThumbnail ? try MXAttachmentSource(thumbnailOf: event) : try MXAttachmentSource(of: event)
        return try await download(source, to: .file(file), maximumSize: maximumSize, onProgress)
    }

    /// Downloads the file of a message, and decrypts it if it is encrypted.
    private func download(
        _ attachment: MXAttachmentSource, to target: PartialFile.Target, acceptedTypes: [String]? = nil,
        maximumSize: Int = .max, _ onProgress: (@Sendable (MXTransferProgress) -> Void)?
    ) async throws -> MXDownload {
        guard let encrypted = attachment.encrypted else {
            switch target {
            case .file(let file):
                return try await downloadContent(
                    attachment.url, to: file, acceptedTypes: acceptedTypes, maximumSize: maximumSize,
                    onProgress: onProgress)
            case .folder(let folder):
                return try await downloadContent(
                    attachment.url, intoFolder: folder, acceptedTypes: acceptedTypes, onProgress: onProgress)
            }
        }
        let ciphertext = FileManager.default.temporaryDirectory.appending(path: "matrix-download-" + UUID().uuidString)
        defer { unlink(ciphertext.path) }
        _ = try await downloadContent(
            attachment.url, to: ciphertext, maximumSize: maximumSize, onProgress: onProgress)
        let part = MediaFile(beside: target)
        return try part.removedOnFailure {
            try AttachmentFile.decrypt(ciphertext, encrypted, to: URL(filePath: part.path))
            let name = attachment.fileName.flatMap { FileName.sanitised($0) }
            let file = try part.move(to: target, name: name ?? "file")
            return MXDownload(
                file: file, mimeType: attachment.mimeType ?? "application/octet-stream", fileName: name,
                size: try MediaFile.size(of: file))
        }
    }
}

/// The file of a message, and how to read it.
struct MXAttachmentSource: Sendable {
    let url: String
    /// The keys; `nil` if the file is not encrypted.
    let encrypted: EncryptedFile?
    let fileName: String?
    let mimeType: String?

    /// - Throws: If the event has no file, or one that cannot be read.
    init(of event: MXEvent) throws(MatrixError) {
        let content = event.contentJSON
        fileName = content["filename"]?.string ?? content["body"]?.string
        mimeType = content["info"]?["mimetype"]?.string
        guard let file = content["file"] else {
            guard let url = content["url"]?.string else {
                throw MatrixError(.invalidArgument, "the event \(event.eventId) carries no file", roomId: event.roomId)
            }
            (self.url, encrypted) = (url, nil)
            return
        }
        (url, encrypted) = try Self.encrypted(file, of: event)
    }

    /// - Throws: If the event has no encrypted thumbnail, or one that cannot be read.
    init(thumbnailOf event: MXEvent) throws(MatrixError) {
        let info = event.contentJSON["info"]
        guard let file = info?["thumbnail_file"] else {
            throw MatrixError(
                .invalidArgument, "the event \(event.eventId) has no encrypted thumbnail", roomId: event.roomId)
        }
        (url, encrypted) = try Self.encrypted(file, of: event)
        fileName = nil
        mimeType = info?["thumbnail_info"]?["mimetype"]?.string
    }

    private static func encrypted(_ file: JSONView, of event: MXEvent) throws(MatrixError) -> (String, EncryptedFile) {
        do throws(EncryptionError) {
            let encrypted = try EncryptedFile(file)
            guard let url = encrypted.url else { throw .missingField }
            return (url, encrypted)
        } catch {
            throw MatrixError(
                .badResponse, "the event \(event.eventId) does not say how its file is to be read (\(error.rawValue))",
                roomId: event.roomId)
        }
    }
}
