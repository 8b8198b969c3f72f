import Basics
import CurlTransport
import PydioProtocol
import Transport

extension PydioClient {
    /// Downloads nodes to a file, with little memory regardless of their size: a single file unchanged; a folder, or
    /// several nodes, as a zip archive. The file appears once complete, and replaces an existing one.
    ///
    /// If the connection breaks, the download of a file is resumed.
    ///
    /// - Parameters:
    ///   - keepsPart: Whether to keep the partial file after a failure, hidden in the same folder, so that the next
    ///     call can resume unless the file has changed on the server. For files only.
    ///   - onProgress: Called a few times per second on a network thread.
    public func downloadNodes(
        _ params: DownloadNodesRequestParams, to file: URL, keepsPart: Bool = false,
        onProgress: (@Sendable (PydioTransferProgress) -> Void)? = nil
    ) async throws {
        let operations = try operations()
        _ = try await operations.call {
            try await operations.download(params, to: .file(file), keepsPart: keepsPart, onProgress)
        }
    }

    /// Like the `async` form, but with blocks; `progress` is called on the same queue, before the others.
    @discardableResult
    public func downloadNodes(
        _ params: DownloadNodesRequestParams, to file: URL, keepsPart: Bool = false,
        progress: (@Sendable (PydioTransferProgress) -> Void)? = nil, success: @escaping () -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(progress, { _ in success() }, failure) {
            try await self.downloadNodes(params, to: file, keepsPart: keepsPart, onProgress: $0)
        }
    }

    /// Downloads nodes to a folder, under the name from the server if that is valid. Doesn't replace a file, but adds a
    /// number to the name.
    ///
    /// - Returns: The URL of the file.
    public func downloadNodes(
        _ params: DownloadNodesRequestParams, intoFolder folder: URL,
        onProgress: (@Sendable (PydioTransferProgress) -> Void)? = nil
    ) async throws -> URL {
        let operations = try operations()
        return try await operations.call {
            try await operations.download(params, to: .folder(folder), keepsPart: false, onProgress)
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func downloadNodes(
        _ params: DownloadNodesRequestParams, intoFolder folder: URL,
        progress: (@Sendable (PydioTransferProgress) -> Void)? = nil, success: @escaping (URL) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(progress, success, failure) {
            try await self.downloadNodes(params, intoFolder: folder, onProgress: $0)
        }
    }

    /// Downloads nodes to memory, limited by ``PydioClientOptions/maximumResponseSize``.
    public func downloadNodes(_ params: DownloadNodesRequestParams) async throws -> Data {
        let operations = try operations()
        return try await operations.call {
            do {
                let data = try await operations.value(of: .download(params), .downloadedBytes)
                guard data.isEmpty, let version = try await operations.version(of: params), version.size > 0 else {
                    return data
                }
                // A server with output buffering announces small files as empty, except in answers to range requests.
                var request = PydioRequest.download(params)
                request.range = "bytes=0-"
                return try await operations.value(of: request, .downloadedBytes)
            } catch let error as PydioError {
                throw error.insteadOfDownload
            }
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func downloadNodes(
        _ params: DownloadNodesRequestParams, success: @escaping (Data) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.downloadNodes(params) }
    }
}

extension PydioRequest {
    static func download(_ params: DownloadNodesRequestParams) -> PydioRequest {
        var request = PydioRequest(.post, "download", params, path: params.nodes.count == 1 ? ["nodes"] : [])
        request.isSentOnce = false
        return request
    }
}

extension OperationsClient {
    fileprivate func download(
        _ params: DownloadNodesRequestParams, to target: PartialFile.Target, keepsPart: Bool,
        _ onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    ) async throws -> URL {
        guard !params.nodes.isEmpty else {
            throw PydioError(.invalidArgument, "a download needs at least one node; nothing was sent")
        }
        // Without the version, a later check couldn't tell whether the file has changed.
        let isVersionNeeded = keepsPart || options.downloadResumptions > 0
        let version = isVersionNeeded ? try await version(of: params) : nil
        var download = FileDownload(params, to: target, version: version, onProgress)
        if keepsPart { download.keepPart(beside: target, of: authorization.connection.server) }
        defer { withExtendedLifetime(download.lock) {} }
        do {
            let head = try await fetch(&download)
            let header = FileName.sanitised(contentDisposition: head.fields["Content-Disposition"])
            let name = header ?? params.singlePath.flatMap { FileName.sanitised($0) } ?? "download"
            return try download.part.move(to: target, name: name)
        } catch {
            let staysOnDisk = download.isKept && download.part.size > 0 && PydioError(any: error).keepsPart
            if !staysOnDisk { download.part.remove() }
            throw error
        }
    }

    /// Fetches a whole file, in as many pieces as necessary.
    private func fetch(_ download: inout FileDownload) async throws -> HTTPResponse {
        var resumptions = options.downloadResumptions
        while true {
            let present = download.part.size
            if present > 0, Int64(present) == download.version?.size { return HTTPResponse(status: 206) }
            do {
                let head = try await value(of: download.request, .downloadHead, onProgress: download.report)
                if download.part.size == 0, !download.asksForRange, let size = download.version?.size, size > 0 {
                    download.asksForRange = true
                    download.forgetAnnouncedSize()
                    continue
                }
                guard let size = download.totalSize, download.part.size < size else { return head }
                // Old servers send one byte too few of a range.
                guard download.part.size > present else {
                    throw PydioError(.network, "the server ended the download before all had come")
                }
            } catch let error as PydioError {
                if error.code == .http(status: 416), present > 0, resumptions > 0 {
                    // The part does not match the server's file, and the known version is wrong.
                    download.beginAnew(with: nil)
                    resumptions -= 1
                    continue
                }
                guard error.code == .network || error.code == .timedOut else { throw error.insteadOfDownload }
                guard resumptions > 0, download.part.size > present else { throw error }
                resumptions -= 1
                try await checkResumption(of: &download)
            }
        }
    }

    /// Allows resuming a part only for an unchanged file: archives are created anew each time.
    private func checkResumption(of download: inout FileDownload) async throws {
        let now = try await version(of: download.params)
        guard let now, let before = download.version, let time = now.mTime, time == before.mTime,
            now.size == before.size, now.size == download.totalSize
        else { return download.beginAnew(with: now) }
    }

    /// Returns a file's properties on the server; `nil` for a folder, for several nodes, and if unknown.
    fileprivate func version(of params: DownloadNodesRequestParams) async throws -> PydioNodeStat? {
        guard let path = params.singlePath else { return nil }
        do {
            let stat = try await value(of: .stat(workspaceId: params.workspaceId, path: path), .stat)
            return stat.flatMap { $0.isFolder ? nil : $0 }
        } catch let error as PydioError
            where [.errorResponse, .receivedNotExpectedAnswer, .unableToParseAnswer].contains(error.code)
        {
            return nil
        }
    }
}

extension PydioError {
    /// Whether the next call may resume the part after this error.
    fileprivate var keepsPart: Bool {
        switch code {
        case .network, .timedOut, .cancelled: true
        // The error does not concern the file, and the user can resolve it.
        case .requireAuthorization, .unableToLogin, .getSeedWithCaptcha, .loginWithCaptcha: true
        case .http(let status): status >= 500
        case .unableToParseAnswer, .errorResponse, .receivedNotExpectedAnswer, .notAZipFileResponse, .unsupportedServer,
            .unsupportedOperation, .notPermitted, .invalidArgument, .tooLarge, .file:
            false
        }
    }
}
