import CurlTransport
import PydioProtocol
import Transport

extension PydioClient {
    /// Downloads nodes into a file, with little memory however large they are: a file as it is; a folder, or several nodes,
    /// as a zip archive. The file is there when all has come, in place of one that was.
    ///
    /// A download of a file whose connection breaks goes on where it was.
    ///
    /// - Parameters:
    ///   - keepsPart: Whether what has come stays after a failure, hidden in the same folder, for the next call to go on
    ///     with, unless the file has changed at the server. For files only.
    ///   - onProgress: Called a few times a second on a thread of the network's.
    public func downloadNodes(
        _ params: DownloadNodesRequestParams, to file: URL, keepsPart: Bool = false,
        onProgress: (@Sendable (PydioTransferProgress) -> Void)? = nil
    ) async throws {
        let operations = try operations()
        _ = try await operations.call {
            try await operations.download(params, to: .file(file), keepsPart: keepsPart, onProgress)
        }
    }

    /// The same with blocks; `progress` is called on the same queue.
    @discardableResult
    public func downloadNodes(
        _ params: DownloadNodesRequestParams, to file: URL, keepsPart: Bool = false,
        progress: (@Sendable (PydioTransferProgress) -> Void)? = nil, success: @escaping () -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        let report = onQueue(progress)
        return start({ _ in success() }, failure) {
            try await self.downloadNodes(params, to: file, keepsPart: keepsPart, onProgress: report)
        }
    }

    /// Downloads nodes into a folder, under the name that the server gives them as far as that can be a name. No file is
    /// replaced: a number makes the name new.
    ///
    /// - Returns: Where the file is.
    public func downloadNodes(
        _ params: DownloadNodesRequestParams, intoFolder folder: URL,
        onProgress: (@Sendable (PydioTransferProgress) -> Void)? = nil
    ) async throws -> URL {
        let operations = try operations()
        return try await operations.call {
            try await operations.download(params, to: .folder(folder), keepsPart: false, onProgress)
        }
    }

    /// The same with blocks.
    @discardableResult
    public func downloadNodes(
        _ params: DownloadNodesRequestParams, intoFolder folder: URL,
        progress: (@Sendable (PydioTransferProgress) -> Void)? = nil, success: @escaping (URL) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        let report = onQueue(progress)
        return start(success, failure) {
            try await self.downloadNodes(params, intoFolder: folder, onProgress: report)
        }
    }

    /// Downloads nodes into memory; bounded by ``PydioClientOptions/maximumResponseSize``.
    public func downloadNodes(_ params: DownloadNodesRequestParams) async throws -> Data {
        let operations = try operations()
        return try await operations.call {
            do {
                return try await operations.value(of: .download(params), .downloadedBytes)
            } catch let error as PydioError {
                throw error.insteadOfDownload
            }
        }
    }

    /// The same with blocks.
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
        PydioRequest(.post, "download", params, path: params.nodes.count == 1 ? ["nodes"] : [])
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
        var download = FileDownload(params, onProgress)
        if keepsPart, let path = download.singlePath,
            let stat = try await value(of: .stat(workspaceId: params.workspaceId, path: path), .stat), !stat.isFolder
        {
            download.isKept = true
            download.expectedSize = stat.size
            // Another version of the file has another name, so that its parts are not mixed.
            let version = "\(stat.size)-\(Int64(stat.mTime?.timeIntervalSince1970 ?? 0))"
            let name = FileName.sanitised(path) ?? "download"
            download.part = PartialFile(beside: target, name: "\(name.prefix(80)).\(version)")
        } else {
            download.part = PartialFile(beside: target)
        }
        do {
            let head = try await fetch(&download)
            let header = FileName.sanitised(contentDisposition: head.fields["Content-Disposition"])
            let name = header ?? download.singlePath.flatMap { FileName.sanitised($0) } ?? "download"
            return try download.part.move(to: target, name: name)
        } catch {
            if !download.isKept || !PydioError(any: error).keepsPart { download.part.remove() }
            throw error
        }
    }

    /// Gets all of a file, in as many pieces as it takes.
    private func fetch(_ download: inout FileDownload) async throws -> HTTPResponse {
        var resumptions = options.downloadResumptions
        while true {
            let present = download.part.size
            if let size = download.expectedSize, present > size { download.part.remove() }
            if present > 0, Int64(present) == download.expectedSize { return HTTPResponse(status: 206) }
            do {
                let head = try await value(of: download.request, .downloadHead, onProgress: download.report)
                guard let size = download.totalSize, download.part.size < size else { return head }
                // Old servers send one byte too few of a part.
                guard download.part.size > present else {
                    throw PydioError(.network, "the server ended the download before all had come")
                }
            } catch let error as PydioError {
                if error.code == .http(status: 416), present > 0 {
                    download.part.remove()  // what is here is not what is there
                    continue
                }
                guard error.code == .network || error.code == .timedOut else { throw error.insteadOfDownload }
                guard resumptions > 0, download.part.size > present else { throw error }
                resumptions -= 1
                try await checkResumption(of: &download)
            }
        }
    }

    /// A part is gone on with only if it is one of a file that is still as large: archives are made anew each time.
    private func checkResumption(of download: inout FileDownload) async throws {
        guard let path = download.singlePath,
            let stat = try await value(of: .stat(workspaceId: download.params.workspaceId, path: path), .stat),
            !stat.isFolder, stat.size == download.totalSize
        else { return download.part.remove() }
        download.expectedSize = stat.size
    }
}

extension PydioError {
    /// Whether the next call may go on where this one was.
    fileprivate var keepsPart: Bool {
        switch code {
        case .network, .timedOut, .cancelled: true
        case .http(let status): status >= 500
        case .unableToParseAnswer, .requireAuthorization, .unableToLogin, .getSeedWithCaptcha, .loginWithCaptcha,
            .errorResponse, .receivedNotExpectedAnswer, .notAZipFileResponse, .unsupportedServer, .invalidArgument,
            .tooLarge, .file:
            false
        }
    }
}
