import Basics
import CurlTransport
import Dispatch
import PydioProtocol
import Transport

extension PydioClient {
    /// Uploads a file, with little memory regardless of its size. Replaces an existing file of the same name, unless
    /// ``UploadNodesRequestParams/keepsBoth`` is true or ``UploadNodesRequestParams/replaces`` is false.
    ///
    /// A file larger than ``PydioClientOptions/uploadPartSize``, or than the server's limit, is uploaded in parts. They
    /// are assembled under a temporary name and then renamed, so that other users never see a partial file. An existing
    /// file is renamed to a name that ends with `.old`, and deleted last. After a failure it gets its name back, and
    /// the uploaded parts are deleted, as far as possible.
    ///
    /// - Parameter onProgress: Called a few times per second on a network thread.
    @discardableResult
    public func uploadNodes(
        _ params: UploadNodesRequestParams, file: URL,
        onProgress: (@Sendable (PydioTransferProgress) -> Void)? = nil
    ) async throws -> PydioSuccessResponse {
        let operations = try operations()
        return try await operations.call {
            let size = Int64(try PartialFile.size(of: file))
            return try await operations.uploadFile(params, file, size, onProgress)
        }
    }

    /// Like the `async` form, but with blocks; `progress` is called on the same queue, before the others.
    @discardableResult
    public func uploadNodes(
        _ params: UploadNodesRequestParams, file: URL,
        progress: (@Sendable (PydioTransferProgress) -> Void)? = nil,
        success: @escaping (PydioSuccessResponse) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(progress, success, failure) { try await self.uploadNodes(params, file: file, onProgress: $0) }
    }

    /// Uploads data from memory, as one request.
    @discardableResult
    public func uploadNodes(_ params: UploadNodesRequestParams, data: Data) async throws -> PydioSuccessResponse {
        let operations = try operations()
        return try await operations.call {
            try await operations.uploadWhole(params, .bytes(Array(data)), of: Int64(data.count), nil)
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func uploadNodes(
        _ params: UploadNodesRequestParams, data: Data, success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.uploadNodes(params, data: data) }
    }

    /// Uploads a file under a temporary name, to be renamed later by the caller. After a failure, the caller must
    /// remove leftovers under both names.
    package func uploadTemporarily(
        workspaceId: String, dir: String, file: URL, name: String, partName: String,
        onProgress: (@Sendable (PydioTransferProgress) -> Void)? = nil
    ) async throws {
        let operations = try operations()
        try await operations.call {
            let whole = UploadNodesRequestParams(workspaceId: workspaceId, dir: dir, fileName: name)
            try await operations.uploadTemporarily(whole, partName: partName, file, onProgress)
        }
    }

    /// Starts a transfer in the form with blocks.
    func start<Value: Sendable>(
        _ progress: (@Sendable (PydioTransferProgress) -> Void)?, _ success: @escaping (Value) -> Void,
        _ failure: @escaping (PydioError) -> Void,
        _ body: @escaping @Sendable ((@Sendable (PydioTransferProgress) -> Void)?) async throws -> Value
    ) -> PydioOperation {
        // On a concurrent queue, the end could overtake a progress report.
        let line = DispatchQueue(label: "pydio.transfer", target: options.completionQueue)
        var report: (@Sendable (PydioTransferProgress) -> Void)?
        if let progress { report = { step in line.async { progress(step) } } }
        let onProgress = report
        return PydioOperation.start(on: line, self.report, success, failure) { try await body(onProgress) }
    }
}

extension OperationsClient {
    /// Uploads a file in as many requests as the server requires.
    fileprivate func uploadFile(
        _ params: UploadNodesRequestParams, _ file: URL, _ size: Int64,
        _ onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    ) async throws -> PydioSuccessResponse {
        let partSize = try await partSize(for: size)
        do {
            return try await uploadFile(params, file, size, inPartsOf: partSize, onProgress)
        } catch let error as PydioError where error.code == .tooLarge {
            guard let smaller = try await smallerPartSize(than: min(size, partSize), for: size) else { throw error }
            return try await uploadFile(params, file, size, inPartsOf: smaller, onProgress)
        }
    }

    private func uploadFile(
        _ params: UploadNodesRequestParams, _ file: URL, _ size: Int64, inPartsOf partSize: Int64,
        _ onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    ) async throws -> PydioSuccessResponse {
        guard size > partSize else {
            return try await uploadWhole(
                params, .file(HTTPBodyFile(path: file.path, count: size)), of: size, onProgress)
        }
        return try await uploadParts(params, file, size, inPartsOf: partSize, onProgress)
    }

    /// Uploads a file under a unique temporary name. After a failure, the caller must remove leftovers.
    ///
    /// - Parameter partName: Another unique name, for parts.
    fileprivate func uploadTemporarily(
        _ whole: UploadNodesRequestParams, partName: String, _ file: URL,
        _ onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    ) async throws {
        let size = Int64(try PartialFile.size(of: file))
        guard size > 0 else {
            _ = try await makeFile(whole)
            return
        }
        func upload(inPartsOf partSize: Int64) async throws {
            guard size > partSize else {
                let body = HTTPBodyFile(path: file.path, count: size)
                _ = try await self.upload(whole, .file(body), from: 0, of: size, onProgress)
                return
            }
            try await putTogether(whole, partName: partName, file, size, inPartsOf: partSize, onProgress)
        }
        let partSize = try await partSize(for: size)
        do {
            try await upload(inPartsOf: partSize)
        } catch let error as PydioError where error.code == .tooLarge {
            guard let smaller = try await smallerPartSize(than: min(size, partSize), for: size) else { throw error }
            try await upload(inPartsOf: smaller)
        }
    }

    /// Uploads a file as one request.
    fileprivate func uploadWhole(
        _ params: UploadNodesRequestParams, _ upload: PydioRequest.Upload, of size: Int64,
        _ onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    ) async throws -> PydioSuccessResponse {
        try Self.checkName(params)
        guard size > 0 else { return try await uploadNothing(params) }
        if !params.replaces && !params.keepsBoth { _ = try await isTaken(params) }
        return try await self.upload(params, upload, from: 0, of: size, onProgress)
    }

    /// Creates an empty file, because servers don't accept an upload without content.
    private func uploadNothing(_ params: UploadNodesRequestParams) async throws -> PydioSuccessResponse {
        let isTaken = params.keepsBoth ? try await exists(params) : try await isTaken(params)
        guard isTaken else { return try await makeFile(params) }
        var whole = params
        whole.fileName = "\(ServerConnection.randomText().prefix(12)).upload"
        do {
            _ = try await makeFile(whole)
            return try await name(whole, as: params)
        } catch {
            await remove(whole)
            throw error
        }
    }

    private func makeFile(_ file: UploadNodesRequestParams) async throws -> PydioSuccessResponse {
        try await value(
            of: .editing(
                "mkfile", file.workspaceId,
                ["dir": .text(file.dir), "filename": .text(file.fileName), "content": ""],
                path: ["dir", "filename"]), .success(of: "mkfile"))
    }

    private static func checkName(_ params: UploadNodesRequestParams) throws {
        guard !params.fileName.isEmpty, !params.fileName.hasSlash,
            !NodeName.isDots(NodeName.stored(params.fileName))
        else {
            throw PydioError(
                .invalidArgument, "a file's name is not empty, not dots, and has no slash; nothing was sent")
        }
        guard NodeName.canBeTold(params.fileName) else {
            throw PydioError.untellable(in: "urlencoded_filename", of: "upload")
        }
        guard !NodeName.stored(params.fileName).isEmpty else {
            throw PydioError(
                .invalidArgument,
                "the name “\(params.fileName)” only has characters that servers leave out; nothing was sent")
        }
    }

    /// Uploads one piece.
    ///
    /// - Parameter start: The number of bytes of the file before the piece.
    private func upload(
        _ params: UploadNodesRequestParams, _ upload: PydioRequest.Upload, from start: Int64, of total: Int64,
        _ onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    ) async throws -> PydioSuccessResponse {
        var request = PydioRequest(.post, "upload", params, path: ["dir"])
        request.restAction = ["upload", "put"]
        request.upload = upload
        do {
            return try await value(of: request, .upload) { progress in
                // The bytes around the file count only for the connection.
                let around = progress.totalToSend - Self.size(of: upload)
                let sent = min(max(progress.sent - around, 0), Self.size(of: upload))
                onProgress?(PydioTransferProgress(completed: start + sent, total: total))
            }
        } catch let error as PydioError {
            throw error.explained(forUploadOf: Self.size(of: upload))
        }
    }

    private static func size(of upload: PydioRequest.Upload) -> Int64 {
        switch upload {
        case .file(let file): file.count
        case .bytes(let bytes): Int64(bytes.count)
        }
    }

    /// Uploads a file in parts: the first part creates the file, the others are appended, then it is renamed.
    fileprivate func uploadParts(
        _ params: UploadNodesRequestParams, _ file: URL, _ size: Int64, inPartsOf partSize: Int64,
        _ onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    ) async throws -> PydioSuccessResponse {
        try Self.checkName(params)
        // Checked before the first byte, and again when the file is renamed.
        if !params.keepsBoth { _ = try await isTaken(params) }
        var whole = params
        let id = ServerConnection.randomText().prefix(12)
        whole.fileName = "\(id).upload"
        let partName = "\(id).part"
        do {
            try await putTogether(whole, partName: partName, file, size, inPartsOf: partSize, onProgress)
            return try await name(whole, as: params)
        } catch {
            // Also after the first part, which may have arrived although its answer did not.
            await remove(whole)
            var part = params
            part.fileName = partName
            await remove(part)
            throw error
        }
    }

    /// Uploads a file in parts under a unique name.
    private func putTogether(
        _ whole: UploadNodesRequestParams, partName: String, _ file: URL, _ size: Int64, inPartsOf partSize: Int64,
        _ onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    ) async throws {
        var part = whole
        (part.keepsBoth, part.replaces) = (false, true)
        var start: Int64 = 0
        while start < size {
            let count = min(partSize, size - start)
            part.fileName = start == 0 ? whole.fileName : partName
            if start > 0 {
                part.additional["appendto_urlencoded_part"] = .text(whole.fileName.percentEncoded)
            }
            let piece = HTTPBodyFile(path: file.path, offset: start, count: count)
            _ = try await upload(part, .file(piece), from: start, of: size, onProgress)
            start += count
        }
        guard let stat = try await value(of: .stat(workspaceId: whole.workspaceId, path: whole.path), .stat),
            stat.size == size
        else {
            throw PydioError(
                .receivedNotExpectedAnswer, "the server did not put the parts of the upload together; it was undone")
        }
    }

    private func name(
        _ upload: UploadNodesRequestParams, as params: UploadNodesRequestParams
    ) async throws -> PydioSuccessResponse {
        var target = params
        if params.keepsBoth || params.replaces && !params.mayReplace {
            var number = 0
            while try await exists(target) {
                number += 1
                guard number < 1000 else {
                    throw PydioError(.file, "the folder has too many files of this name; the upload was undone")
                }
                target.fileName = Self.numbered(NodeName.stored(params.fileName), number)
            }
        } else if try await isTaken(target) {
            return try await replace(target, by: upload)
        }
        return try await rename(upload, to: target)
    }

    /// Replaces a file. The old one is set aside until the new one has its name, so that one of them exists whatever
    /// fails.
    private func replace(
        _ target: UploadNodesRequestParams, by upload: UploadNodesRequestParams
    ) async throws -> PydioSuccessResponse {
        var old = target
        // Starts with the original name, so that users can find it in the recycle bin.
        old.fileName = "\(target.fileName.prefix(40)).\(upload.fileName.prefix { $0 != "." }).old"
        let aside = old
        do {
            _ = try await rename(target, to: aside)
            let answer = try await rename(upload, to: target)
            await remove(aside)
            return answer
        } catch {
            // Servers don't rename to a name that is taken: if the new file got it after all, both stay.
            await Task { _ = try? await self.rename(aside, to: target) }.value
            throw error
        }
    }

    private func rename(
        _ file: UploadNodesRequestParams, to target: UploadNodesRequestParams
    ) async throws -> PydioSuccessResponse {
        try await value(
            of: .editing(
                "rename", file.workspaceId, ["file": .text(file.path), "filename_new": .text(target.fileName)]),
            .success(of: "rename"))
    }

    private func exists(_ params: UploadNodesRequestParams) async throws -> Bool {
        try await value(of: .stat(workspaceId: params.workspaceId, path: params.path), .stat) != nil
    }

    /// Returns whether there is a file to replace; fails if an existing node must stay.
    private func isTaken(_ params: UploadNodesRequestParams) async throws -> Bool {
        guard let stat = try await value(of: .stat(workspaceId: params.workspaceId, path: params.path), .stat) else {
            return false
        }
        guard !stat.isFolder else {
            throw PydioError(.file, "a folder has the name of the upload; it was left alone")
        }
        guard params.replaces else {
            throw PydioError(.file, "there is a file with the name of the upload, which is not to be replaced")
        }
        return true
    }

    /// Removes a leftover file. If this also fails, its name still shows what it is.
    private func remove(_ file: UploadNodesRequestParams) async {
        let params = DeleteNodesRequestParams(workspaceId: file.workspaceId, nodes: [file.path])
        // This must run even if the call was cancelled.
        await Task {
            _ = try? await self.value(of: PydioRequest(.post, "delete", params), .success(of: "delete"))
        }.value
    }

    /// Adds a number to a name like the server does: before the extension.
    private static func numbered(_ name: String, _ number: Int) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "\(name)-\(number)" }
        return "\(name[..<dot])-\(number)\(name[dot...])"
    }
}

extension UploadNodesRequestParams {
    fileprivate var path: String { (dir.hasSuffix("/") ? dir : dir + "/") + NodeName.stored(fileName) }
}
