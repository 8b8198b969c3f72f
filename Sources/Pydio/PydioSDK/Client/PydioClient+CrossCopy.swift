import PydioProtocol

extension PydioClient {
    /// Copies a node into another workspace of the server, under another name if need be. Fails if something is there
    /// already.
    ///
    /// The copy is made in a new folder beside the place, which is deleted afterwards: servers would replace what has the
    /// name. Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server that does not copy between
    /// workspaces; ``WorkspaceResponse/allowsCrossCopy`` tells before.
    ///
    /// - Parameters:
    ///   - newPath: Where the copy will be. Servers leave out some characters of names, such as quotation marks.
    ///   - destinationId: The other workspace's id.
    /// - Returns: Where the copy is.
    @discardableResult
    public func copy(
        workspaceId: String, path: String, to newPath: String, inWorkspace destinationId: String
    ) async throws -> String {
        let operations = try operations()
        return try await operations.call {
            try await operations.copy(workspaceId, path, to: newPath, in: destinationId)
        }
    }

    /// The same with blocks.
    @discardableResult
    public func copy(
        workspaceId: String, path: String, to newPath: String, inWorkspace destinationId: String,
        success: @escaping (String) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.copy(workspaceId: workspaceId, path: path, to: newPath, inWorkspace: destinationId)
        }
    }

    /// Moves a node into another workspace of the server: it is copied, the copy is compared with it by names and sizes, and
    /// then it is deleted, into its workspace's recycle bin if there is one. Fails if something is there already.
    ///
    /// - Parameters: As in ``copy(workspaceId:path:to:inWorkspace:)``.
    /// - Returns: Where it is.
    @discardableResult
    public func move(
        workspaceId: String, path: String, to newPath: String, inWorkspace destinationId: String
    ) async throws -> String {
        let operations = try operations()
        return try await operations.call {
            // First: what cannot be listed cannot be compared, and is not copied.
            let original = try await operations.contents(of: path, in: workspaceId)
            let target = try await operations.copy(workspaceId, path, to: newPath, in: destinationId)
            guard try await operations.contents(of: target, in: destinationId) == original else {
                throw PydioError(
                    .receivedNotExpectedAnswer,
                    "the copy at \(target) is not the same as \(path), or not complete yet: both are kept")
            }
            let params = DeleteNodesRequestParams(workspaceId: workspaceId, nodes: [path])
            _ = try await operations.value(of: PydioRequest(.post, "delete", params), .success(of: "delete"))
            return target
        }
    }

    /// The same with blocks.
    @discardableResult
    public func move(
        workspaceId: String, path: String, to newPath: String, inWorkspace destinationId: String,
        success: @escaping (String) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.move(workspaceId: workspaceId, path: path, to: newPath, inWorkspace: destinationId)
        }
    }
}

extension OperationsClient {
    /// Bytes of a node and of all in it, by their paths seen from it; nil of folders. Paths are bytes: two spellings of a
    /// letter are two names.
    fileprivate func contents(of path: String, in workspaceId: String) async throws -> [[UInt8]: Int64?] {
        guard let stat = try await value(of: .stat(workspaceId: workspaceId, path: path), .stat) else { return [:] }
        guard stat.isFolder else { return [[]: stat.size] }
        var result: [[UInt8]: Int64?] = [[]: nil]
        var waiting = [path]
        while let folder = waiting.popLast() {
            let params = ListNodesRequestParams(workspaceId: workspaceId, path: folder)
            for node in try await allPages(params)?.children ?? [] {
                let place = node.fullPath
                guard place.utf8.starts(with: (folder + "/").utf8), place.utf8.count > folder.utf8.count + 1 else {
                    throw PydioError(
                        .receivedNotExpectedAnswer, "the server lists nodes in \(folder) that are not there")
                }
                let size = node.isLeaf ? node.size : nil
                result.updateValue(size, forKey: Array(place.utf8.dropFirst(path.utf8.count)))
                if !node.isLeaf { waiting.append(place) }
            }
        }
        return result
    }
}

extension WorkspaceResponse {
    /// Whether the server copies between it and others of which this is true.
    public var allowsCrossCopy: Bool { attributes["allowCrossRepositoryCopy"] == "true" }
}
