import Basics
import PydioProtocol

/// What a server says of how large an upload may be.
struct KnownUploadLimit: Sendable {
    /// Nil: it doesn't say.
    let bytes: Int64?

    /// Less than any server is set to take.
    static let always: Int64 = 1 << 20
    /// Parts that a file is sent in at most, whatever a server says: one could make a client send it byte by byte.
    private static let maximumParts: Int64 = 10_000
    /// A request has more bytes than its file, and may be bounded by the same number.
    private static let margin: Int64 = 4096

    /// Bytes of each part of a file of this size that the server takes, if they are not too many.
    func partSize(for size: Int64) -> Int64? {
        bytes.map { max($0 - Self.margin, $0 / 2, size / Self.maximumParts, 1) }
    }
}

extension OperationsClient {
    /// Bytes of each part that a file has to be uploaded in.
    func partSize(for size: Int64) async throws -> Int64 {
        let own = max(options.uploadPartSize, 1)
        guard size > KnownUploadLimit.always else { return own }
        return min(own, try await knownUploadLimit().partSize(for: size) ?? own)
    }

    /// Bytes of each part after the server refused as many at once: it may take less than it says, or say nothing.
    func smallerPartSize(than refused: Int64, for size: Int64) async throws -> Int64? {
        let told = try await knownUploadLimit()
        if let part = told.partSize(for: size), part < refused { return part }
        let least = KnownUploadLimit(bytes: KnownUploadLimit.always)
        guard let part = least.partSize(for: size), part < refused else { return nil }
        uploadLimit.withLock { $0 = least }
        return part
    }

    /// Asked for once.
    private func knownUploadLimit() async throws -> KnownUploadLimit {
        if let known = uploadLimit.withLock({ $0 }) { return known }
        // Clients that are not logged in are given an empty registry.
        if authorization.hasNoPass { try await authorize() }
        var limit: Int64?
        do {
            limit = UploadLimit.bytes(in: try await registry("plugins"))
        } catch let error as PydioError
            where [.errorResponse, .receivedNotExpectedAnswer, .unableToParseAnswer, .tooLarge].contains(error.code)
        {
            limit = nil  // the upload shows
        }
        let known = KnownUploadLimit(bytes: limit)
        uploadLimit.withLock { $0 = known }
        return known
    }
}

extension PydioError {
    /// Says what a refusal of an upload means to the user.
    func explained(forUploadOf size: Int64) -> PydioError {
        guard isRefusalOfSize else { return self }
        return PydioError(
            .tooLarge,
            "\(size) bytes are more than the server takes at once (it says: \(serverMessage ?? "")). Its administrator can "
                + "raise upload_max_filesize and post_max_size of PHP; smaller parts (uploadPartSize) may be taken")
    }
}
