import Basics
import CurlTransport
public import Foundation
import JSONBytes
import MatrixEncryption
public import MatrixProtocol

/// Files on their way into encrypted rooms and out of them, piece by piece: they may be larger than the memory.
enum AttachmentFile {
    private static let pieceSize = 1 << 20

    /// Encrypts a file into a new one that only its owner can read, and deletes that when `body` is done with it.
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

    /// Decrypts a download, of which no byte is shown unless all of it is what was sent.
    ///
    /// - Parameter clear: Is made anew, for its owner alone.
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

/// Where an upload lies.
enum UploadedFile: Sendable {
    case plain(String)
    case encrypted(EncryptedFile)

    /// Its address, or all that is needed to read it, as a content has it under `url` or `file`.
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
    /// Uploads a file for a room: of one that is encrypted, the homeserver learns no more than its size.
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

    /// Downloads the file of a message that was read, to where it is there when all has come, and not before.
    ///
    /// - Parameter file: Is replaced.
    /// - Throws: `MatrixError` of code `badResponse` for a file that is not what its sender has encrypted.
    @discardableResult
    public func downloadMedia(
        of event: MXEvent, to file: URL, onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> MXDownload {
        try await download(MXAttachmentSource(of: event), to: .file(file), onProgress)
    }

    /// The same into a folder, under the name that the sender gave the file as far as that can be a name. No file is
    /// replaced: a number makes the name new.
    @discardableResult
    public func downloadMedia(
        of event: MXEvent, intoFolder folder: URL, onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> MXDownload {
        try await download(MXAttachmentSource(of: event), to: .folder(folder), onProgress)
    }

    /// The same with a bound, which the sender of the file may not keep.
    ///
    /// - Parameters:
    ///   - isThumbnail: The encrypted picture that the message has instead of the file.
    ///   - maximumSize: Bytes.
    @discardableResult
    package func downloadMedia(
        of event: MXEvent, isThumbnail: Bool = false, to file: URL, maximumSize: Int,
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> MXDownload {
        let source = isThumbnail ? try MXAttachmentSource(thumbnailOf: event) : try MXAttachmentSource(of: event)
        return try await download(source, to: .file(file), maximumSize: maximumSize, onProgress)
    }

    /// Downloads a file that a message carries, and decrypts it if it is encrypted.
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

/// The file of a message, and how it is read.
struct MXAttachmentSource: Sendable {
    let url: String
    /// Nil: it is not encrypted.
    let encrypted: EncryptedFile?
    let fileName: String?
    let mimeType: String?

    /// - Throws: If the event carries no file, or one that cannot be read.
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
