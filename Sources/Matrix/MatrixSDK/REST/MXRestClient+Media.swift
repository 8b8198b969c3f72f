import Basics
import CurlTransport
import JSONBytes
import MatrixProtocol
import Transport

extension MXRestClient {
    /// Returns the largest upload that the server accepts, in bytes, or `nil` if it does not say. The client asks only
    /// once.
    public func maximumUploadSize() async throws -> Int? {
        if let known = homeserver.facts.withLock({ $0.maximumUploadSize }) { return known.bytes }
        let answer = try await optional(APICall(.get, "v1/media/config"))
        let bytes = answer?["m.upload.size"]?.wholePart
        homeserver.facts.withLock { $0.maximumUploadSize = HomeserverFacts.UploadSize(bytes: bytes) }
        return bytes
    }

    // MARK: Upload

    /// Uploads data from memory.
    ///
    /// - Parameters:
    ///   - onProgress: Called on any thread occasionally.
    /// - Returns: An `mxc:` URL.
    @concurrent
    public func uploadContent(
        _ data: Data, fileName: String? = nil, mimeType: String = "application/octet-stream",
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> String {
        let body = [UInt8](data)
        return try await upload(size: body.count, fileName, mimeType, onProgress) { $0.body = body }
    }

    /// Uploads a file piece by piece. It may be larger than memory.
    ///
    /// - Parameter fileName: The name others see; `nil` uses the file's own name.
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

    /// Uploads encrypted data without a name or type.
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

    /// Downloads media to a file, which appears only when complete.
    ///
    /// Interrupted downloads resume where they stopped if the server supports it.
    ///
    /// - Parameters:
    ///   - uri: An `mxc:` URL.
    ///   - file: The destination, replaced if it exists.
    ///   - acceptedTypes: Types such as `image/png` or `image/*`; all others fail. `nil` accepts every type.
    ///   - onProgress: Called on any thread occasionally.
    @concurrent
    @discardableResult
    public func downloadContent(
        _ uri: String, to file: URL, acceptedTypes: [String]? = nil,
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> MXDownload {
        try await download(uri, "download", [], to: .file(file), acceptedTypes, onProgress)
    }

    /// Downloads media into a folder, under the name its sender gave it if that is a usable file name, otherwise under
    /// its id. Never replaces a file: a number makes the name unique.
    @concurrent
    @discardableResult
    public func downloadContent(
        _ uri: String, intoFolder folder: URL, acceptedTypes: [String]? = nil,
        onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> MXDownload {
        try await download(uri, "download", [], to: .folder(folder), acceptedTypes, onProgress)
    }

    /// Downloads a thumbnail of an image.
    ///
    /// - Parameters:
    ///   - width: The preferred width in pixels.
    ///   - height: The preferred height in pixels.
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

    /// Downloads media chosen by another user, with a size limit.
    ///
    /// - Parameter maximumSize: The limit in bytes.
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

    /// Returns a call with the token if the server supports it, otherwise the older call.
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
    /// Show the whole picture.
    case scale
    /// Fill the size, cropping the picture.
    case crop
}

/// Downloaded media.
public struct MXDownload: Sendable, Hashable {
    /// The location of the file.
    public let file: URL
    /// The type reported by the server; other users may have chosen it.
    public let mimeType: String
    /// The sender's name for the file; `nil` if there is none that can be a file name.
    public let fileName: String?
    /// The size in bytes.
    public let size: Int
}
