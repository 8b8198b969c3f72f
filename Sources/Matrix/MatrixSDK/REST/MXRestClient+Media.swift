import Basics
import CurlTransport
import JSONBytes
import MatrixProtocol
import Transport

extension MXRestClient {
    /// The largest upload that the server takes, in bytes; nil if it does not say. Asked for once.
    public func maximumUploadSize() async throws -> Int? {
        if let known = homeserver.facts.withLock({ $0.maximumUploadSize }) { return known.bytes }
        let answer = try await optional(APICall(.get, "v1/media/config"))
        let bytes = answer?["m.upload.size"]?.wholePart
        homeserver.facts.withLock { $0.maximumUploadSize = HomeserverFacts.UploadSize(bytes: bytes) }
        return bytes
    }

    // MARK: Upload

    /// Uploads what is in memory.
    ///
    /// - Parameters:
    ///   - onProgress: Called on any thread, now and then.
    /// - Returns: An `mxc:` URL.
    @concurrent
    public func uploadContent(
        _ data: Data, fileName: String? = nil, mimeType: String = "application/octet-stream",
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> String {
        let body = [UInt8](data)
        return try await upload(size: body.count, fileName, mimeType, onProgress) { $0.body = body }
    }

    /// Uploads a file, piece by piece: it may be larger than the memory.
    ///
    /// - Parameter fileName: What others see; nil is the file's own name.
    /// - Returns: An `mxc:` URL.
    @concurrent
    public func uploadFile(
        _ file: URL, fileName: String? = nil, mimeType: String = "application/octet-stream",
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> String {
        let size = try MediaFile.size(of: file)
        let body = HTTPBodyFile(path: file.path, count: Int64(size))
        return try await upload(size: size, fileName ?? file.lastPathComponent, mimeType, onProgress) {
            $0.bodyFile = body
        }
    }

    /// Uploads what only those can read who know how.
    func uploadWithoutName(
        _ ciphertext: URL, _ onProgress: (@Sendable (MXTransferProgress) -> Void)?
    ) async throws -> String {
        let size = try MediaFile.size(of: ciphertext)
        let body = HTTPBodyFile(path: ciphertext.path, count: Int64(size))
        return try await upload(size: size, nil, "application/octet-stream", onProgress) { $0.bodyFile = body }
    }

    private func upload(
        size: Int, _ fileName: String?, _ mimeType: String, _ onProgress: (@Sendable (MXTransferProgress) -> Void)?,
        _ setBody: @escaping @Sendable (inout HTTPRequest) -> Void
    ) async throws -> String {
        guard MediaFile.isType(mimeType) else {
            throw MatrixError(.invalidArgument, "a file's type is two words like image/png; nothing was uploaded")
        }
        if let limit = try await maximumUploadSize(), size > limit {
            throw MatrixError(
                .tooLarge, "the file has \(size) bytes, and the server takes \(limit); nothing was uploaded")
        }
        let call = APICall(.post, "/_matrix/media/v3/upload", query: [("filename", fileName)])
        let response = try await exchange(call) { [homeserver] token in
            var request = try homeserver.request(call, token: token)
            request.fields["Content-Type"] = mimeType
            request.stallTimeout = homeserver.options.stallTimeout
            setBody(&request)
            return try await homeserver.send(request) { progress in
                onProgress?(MXTransferProgress(completed: progress.sent, total: Int64(size)))
            }
        }
        guard let uri = JSONView(response.body)?["content_uri"]?.string, MXContentURI(uri) != nil else {
            throw Self.unexpected(call)
        }
        return uri
    }

    // MARK: Download

    /// Downloads media to a file, which is there when all has come, and not before.
    ///
    /// What breaks off goes on where it was, if the server can do that.
    ///
    /// - Parameters:
    ///   - uri: An `mxc:` URL.
    ///   - file: Is replaced.
    ///   - acceptedTypes: Such as `image/png` or `image/*`; everything else fails. Nil accepts all.
    ///   - onProgress: Called on any thread, now and then.
    @concurrent
    @discardableResult
    public func downloadContent(
        _ uri: String, to file: URL, acceptedTypes: [String]? = nil,
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> MXDownload {
        try await download(uri, "download", [], to: .file(file), acceptedTypes, onProgress)
    }

    /// Downloads media into a folder, under the name that its sender gave it as far as that can be a name, else under its
    /// id. No file is replaced: a number makes the name new.
    @concurrent
    @discardableResult
    public func downloadContent(
        _ uri: String, intoFolder folder: URL, acceptedTypes: [String]? = nil,
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> MXDownload {
        try await download(uri, "download", [], to: .folder(folder), acceptedTypes, onProgress)
    }

    /// Downloads a smaller picture of an image.
    ///
    /// - Parameters:
    ///   - width: Pixels, as a wish.
    ///   - height: Pixels, as a wish.
    @concurrent
    @discardableResult
    public func downloadThumbnail(
        _ uri: String, to file: URL, width: Int, height: Int, method: MXThumbnailMethod = .scale,
        isAnimated: Bool = false
    ) async throws -> MXDownload {
        let query: [(name: String, value: String?)] = [
            ("width", String(width)), ("height", String(height)), ("method", method.rawValue),
            ("animated", isAnimated ? "true" : nil),
        ]
        return try await download(uri, "thumbnail", query, to: .file(file), nil, nil)
    }

    /// Downloads what another user has chosen, who may have chosen much.
    ///
    /// - Parameter maximumSize: Bytes.
    func downloadContent(
        _ uri: String, to file: URL, acceptedTypes: [String]? = nil, maximumSize: Int,
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> MXDownload {
        try await download(
            uri, "download", [], to: .file(file), acceptedTypes, onProgress, maximumSize: maximumSize)
    }

    private func download(
        _ uri: String, _ what: String, _ query: [(name: String, value: String?)], to target: MediaFile.Target,
        _ acceptedTypes: [String]?, _ onProgress: (@Sendable (MXTransferProgress) -> Void)?,
        maximumSize: Int = .max
    ) async throws -> MXDownload {
        guard let content = MXContentURI(uri) else {
            throw MatrixError(.invalidArgument, "this is not an mxc URL that can be downloaded; nothing was sent")
        }
        let call = try await mediaCall(content, what, query)
        let part = MediaFile(beside: target)
        let response = try await part.removedOnFailure {
            let start = MonotonicInstant.now
            while true {
                do {
                    return try await exchange(call) { [homeserver] token in
                        try await homeserver.fetch(
                            call, token: token, into: part, maximumSize: maximumSize, onProgress)
                    }
                } catch let error as MXError
                    where error.errcode == kMXErrCodeStringNotYetUploaded
                    && MonotonicInstant.now - start < homeserver.options.rateLimitBound
                {
                    try await Self.pause(.seconds(1))
                }
            }
        }
        let type = response.fields["Content-Type"] ?? "application/octet-stream"
        return try part.removedOnFailure {
            guard MediaFile.matches(type, acceptedTypes) else {
                throw MatrixError(.badResponse, "the media is of another type than accepted; the file was not kept")
            }
            let name = FileName.sanitised(contentDisposition: response.fields["Content-Disposition"])
            let file = try part.move(to: target, name: name ?? content.mediaId)
            return MXDownload(file: file, mimeType: type, fileName: name, size: try MediaFile.size(of: file))
        }
    }

    /// With the token where the server knows that, else the old way.
    private func mediaCall(
        _ content: MXContentURI, _ what: String, _ query: [(name: String, value: String?)]
    ) async throws -> APICall {
        let isAuthenticated: Bool
        if let known = homeserver.facts.withLock({ $0.hasAuthenticatedMedia }) {
            isAuthenticated = known
        } else {
            isAuthenticated = try await supportedVersions().hasAuthenticatedMedia
            homeserver.facts.withLock { $0.hasAuthenticatedMedia = isAuthenticated }
        }
        guard isAuthenticated else {
            let old: EndpointPath = "/_matrix/media/v3/\(what)/\(content.server)/\(content.mediaId)"
            return APICall(.get, old, query: query + [("allow_redirect", "true")], authorization: .none)
        }
        return APICall(.get, "v1/media/\(what)/\(content.server)/\(content.mediaId)", query: query)
    }
}

/// How a thumbnail fits its size.
public enum MXThumbnailMethod: String, Sendable, Hashable {
    /// The whole picture.
    case scale
    /// The size, and what of the picture is in it.
    case crop
}

/// Media that was downloaded.
public struct MXDownload: Sendable, Hashable {
    /// Where it is.
    public let file: URL
    /// What the server says it is; others may have chosen it.
    public let mimeType: String
    /// What its sender called it, as the name of a file; nil if there is none that can be one.
    public let fileName: String?
    /// Bytes.
    public let size: Int
}
