import PydioProtocol

extension PydioClient {
    /// Copies a node into another workspace of the server, optionally under another name. Fails if the target exists.
    ///
    /// Makes the copy in a new folder next to the target, which it deletes afterwards: servers would replace an
    /// existing node. Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server that does not copy
    /// between workspaces; check ``WorkspaceResponse/allowsCrossCopy`` first.
    ///
    /// - Parameters:
    ///   - newPath: The path of the copy. Servers drop some characters from names, such as quotation marks.
    ///   - destinationId: The id of the other workspace.
    /// - Returns: The path of the copy.
    @discardableResult
    public func copy(
        workspaceId: String, path: String, to newPath: String, inWorkspace destinationId: String
    ) async throws -> String {
        let operations = try operations()
        return try await operations.call {
            try await operations.copy(workspaceId, path, to: newPath, in: destinationId)
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func copy(
        workspaceId: String, path: String, to newPath: String, inWorkspace destinationId: String,
        success: @escaping (String) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.copy(workspaceId: workspaceId, path: path, to: newPath, inWorkspace: destinationId)
        }
    }

    /// Moves a node into another workspace of the server: copies it, compares the copy with it by names and sizes, and
    /// then deletes it, to its workspace's recycle bin if there is one. Fails if the target exists.
    ///
    /// - Parameters: As in ``copy(workspaceId:path:to:inWorkspace:)``.
    /// - Returns: The new path.
    @discardableResult
    public func move(
        workspaceId: String, path: String, to newPath: String, inWorkspace destinationId: String
    ) async throws -> String {
        let operations = try operations()
        return try await operations.call {
            // List first: a node that cannot be listed cannot be compared, and is not copied.
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

    /// Like the `async` form, but with blocks.
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
    /// Returns the sizes of a node and its contents by relative path; `nil` for folders. Paths are bytes: two spellings
    /// of a letter are two names.
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
    /// Whether the server can copy between this workspace and others that also allow it.
    public var allowsCrossCopy: Bool { attributes["allowCrossRepositoryCopy"] == "true" }
}
