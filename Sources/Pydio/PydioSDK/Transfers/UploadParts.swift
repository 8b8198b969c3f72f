import Basics
import PydioProtocol

/// A server's limit on the size of an upload.
struct KnownUploadLimit: Sendable {
    /// The limit in bytes; `nil` if the server doesn't report one.
    let bytes: Int64?

    /// A size that every server accepts.
    static let always: Int64 = 1 << 20
    /// The maximum number of parts of a file, regardless of the server's limit: a server could make a client send byte
    /// by byte.
    private static let maximumParts: Int64 = 10_000
    /// An allowance because a request is larger than its file, and the same limit may apply to it.
    private static let margin: Int64 = 4096

    /// Returns the part size for a file of this size that the server accepts, unless there would be too many parts.
    func partSize(for size: Int64) -> Int64? {
        bytes.map { max($0 - Self.margin, $0 / 2, size / Self.maximumParts, 1) }
    }
}

extension OperationsClient {
    /// Returns the size of the parts in which to upload a file.
    func partSize(for size: Int64) async throws -> Int64 {
        let own = max(options.uploadPartSize, 1)
        guard size > KnownUploadLimit.always else { return own }
        return min(own, try await knownUploadLimit().partSize(for: size) ?? own)
    }

    /// Returns a smaller part size after the server refused one: its real limit may be lower than reported, or not
    /// reported.
    func smallerPartSize(than refused: Int64, for size: Int64) async throws -> Int64? {
        let told = try await knownUploadLimit()
        if let part = told.partSize(for: size), part < refused { return part }
        let least = KnownUploadLimit(bytes: KnownUploadLimit.always)
        guard let part = least.partSize(for: size), part < refused else { return nil }
        uploadLimit.withLock { $0 = least }
        return part
    }

    /// Returns the server's limit, which is requested only once.
    private func knownUploadLimit() async throws -> KnownUploadLimit {
        if let known = uploadLimit.withLock({ $0 }) { return known }
        // Clients that are not logged in receive an empty registry.
        if authorization.hasNoPass { try await authorize() }
        var limit: Int64?
        do {
            limit = UploadLimit.bytes(in: try await registry("plugins"))
        } catch let error as PydioError
            where [.errorResponse, .receivedNotExpectedAnswer, .unableToParseAnswer, .tooLarge].contains(error.code)
        {
            limit = nil  // the upload will show it
        }
        let known = KnownUploadLimit(bytes: limit)
        uploadLimit.withLock { $0 = known }
        return known
    }
}

extension PydioError {
    /// Returns the error with an explanation of the refused upload for the user.
    func explained(forUploadOf size: Int64) -> PydioError {
        guard isRefusalOfSize else { return self }
        return PydioError(
            .tooLarge,
            "\(size) bytes are more than the server takes at once (it says: \(serverMessage ?? "")). Its administrator can "
                + "raise upload_max_filesize and post_max_size of PHP; smaller parts (uploadPartSize) may be taken")
    }
}
