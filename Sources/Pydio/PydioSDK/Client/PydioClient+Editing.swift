import Basics
import PydioProtocol

// Most of these return the server's message and the changes: servers may alter the names that they are sent.
extension PydioClient {
    /// Creates a folder.
    @discardableResult
    public func mkdir(_ params: MkDirRequestParams) async throws -> PydioSuccessResponse {
        try await call(PydioRequest(.post, "mkdir", params, path: ["dir", "dirname"]), .success(of: "mkdir"))
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func mkdir(
        _ params: MkDirRequestParams, success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.mkdir(params) }
    }

    /// Creates a file.
    ///
    /// - Parameters:
    ///   - dir: The parent folder.
    ///   - fileName: The name of the file.
    ///   - content: The content; empty by default.
    @discardableResult
    public func mkfile(workspaceId: String, dir: String, fileName: String, content: String = "") async throws
        -> PydioSuccessResponse
    {
        try await call(
            .editing(
                "mkfile", workspaceId,
                ["dir": .text(dir), "filename": .text(fileName), "content": .text(content)],
                path: ["dir", "filename"]), .success(of: "mkfile"))
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func mkfile(
        workspaceId: String, dir: String, fileName: String, content: String = "",
        success: @escaping (PydioSuccessResponse) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.mkfile(workspaceId: workspaceId, dir: dir, fileName: fileName, content: content)
        }
    }

    /// Deletes nodes. They are moved to the recycle bin if there is one; nodes already in it are deleted for good.
    @discardableResult
    public func deleteNodes(_ params: DeleteNodesRequestParams) async throws -> PydioSuccessResponse {
        try await call(
            PydioRequest(.post, "delete", params), .success(of: "delete"))
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func deleteNodes(
        _ params: DeleteNodesRequestParams, success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.deleteNodes(params) }
    }

    /// Renames a node within its folder.
    ///
    /// - Parameter newName: The name without a path.
    @discardableResult
    public func rename(workspaceId: String, path: String, newName: String) async throws -> PydioSuccessResponse {
        guard !newName.hasSlash else {
            throw PydioError(.invalidArgument, "a name has no slash; nothing was sent. To move nodes there is move")
        }
        // If also sent the whole path, servers ignore the name, and their answer contains neither.
        return try await call(
            .editing("rename", workspaceId, ["file": .text(path), "filename_new": .text(newName)]),
            .success(of: "rename"))
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func rename(
        workspaceId: String, path: String, newName: String, success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.rename(workspaceId: workspaceId, path: path, newName: newName) }
    }

    /// Moves nodes into another folder of the workspace.
    ///
    /// - Parameter destination: The target folder.
    @discardableResult
    public func move(workspaceId: String, nodes: [String], destination: String) async throws -> PydioSuccessResponse {
        try await call(
            .editing("move", workspaceId, ["nodes": .list(nodes), "dest": .text(destination)]),
            .success(of: "move"))
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func move(
        workspaceId: String, nodes: [String], destination: String, success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.move(workspaceId: workspaceId, nodes: nodes, destination: destination)
        }
    }

    /// Copies nodes into another folder of the workspace.
    ///
    /// - Parameter destination: The target folder.
    @discardableResult
    public func copy(workspaceId: String, nodes: [String], destination: String) async throws -> PydioSuccessResponse {
        try await call(
            .editing("copy", workspaceId, ["nodes": .list(nodes), "dest": .text(destination)]),
            .success(of: "copy"))
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func copy(
        workspaceId: String, nodes: [String], destination: String, success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.copy(workspaceId: workspaceId, nodes: nodes, destination: destination)
        }
    }
}

// Servers' answers to these don't contain the node's path, so it is looked up.
extension PydioClient {
    /// Moves a node to another path in its workspace, optionally under another name. Fails if the target exists.
    ///
    /// - Parameter newPath: The new path. Servers drop some characters from names, such as quotation marks.
    /// - Returns: The new path.
    @discardableResult
    public func move(workspaceId: String, path: String, to newPath: String) async throws -> String {
        let operations = try operations()
        return try await operations.call { try await operations.move(workspaceId, path, to: newPath) }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func move(
        workspaceId: String, path: String, to newPath: String, success: @escaping (String) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.move(workspaceId: workspaceId, path: path, to: newPath) }
    }

    /// Copies a node to another path in its workspace, which may be in the same folder under another name. Fails if the
    /// target exists.
    ///
    /// Makes the copy in a new folder next to the target, which it deletes afterwards. If the server refuses that, the
    /// empty folder stays.
    ///
    /// - Parameter newPath: The path of the copy. Servers drop some characters from names, such as quotation marks.
    /// - Returns: The path of the copy.
    @discardableResult
    public func copy(workspaceId: String, path: String, to newPath: String) async throws -> String {
        let operations = try operations()
        return try await operations.call { try await operations.copy(workspaceId, path, to: newPath) }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func copy(
        workspaceId: String, path: String, to newPath: String, success: @escaping (String) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.copy(workspaceId: workspaceId, path: path, to: newPath) }
    }
}

extension OperationsClient {
    fileprivate func move(_ workspaceId: String, _ path: String, to newPath: String) async throws -> String {
        // Servers take a whole path unchanged, which could create a name that other requests cannot use.
        let target = NodeName.stored(path: newPath)
        guard NodeName.canBeTold(target) else { throw PydioError.untellable(in: "dest", of: "rename") }
        guard !NodeName.isDots(NodeName.split(target).name) else {
            throw PydioError(
                .invalidArgument, "the new name is only dots to a server, which is no name; nothing was sent")
        }
        _ = try await value(
            of: .editing("rename", workspaceId, ["file": .text(path), "dest": .text(target)]), .success(of: "rename"))
        guard try await value(of: .stat(workspaceId: workspaceId, path: target), .stat) != nil else {
            throw PydioError(
                .receivedNotExpectedAnswer, "the server says that it has moved \(path), but \(target) is not there")
        }
        return target
    }

    /// - Parameter other: The target workspace; `nil` for the same one.
    func copy(
        _ workspaceId: String, _ path: String, to newPath: String, in other: String? = nil
    ) async throws -> String {
        let destinationId = other ?? workspaceId
        // Log in first, so that there is nothing to undo if the login is refused.
        if authorization.hasNoPass { try await authorize() }
        let name = NodeName.split(path).name
        // In its own folder the copy has its original's name, and no conflicts.
        let parent = NodeName.split(newPath).folder
        let temporary = "copy-\(ServerConnection.randomText().prefix(12))"
        let folder = parent == "/" ? "/" + temporary : "\(parent)/\(temporary)"
        do {
            let made = MkDirRequestParams(workspaceId: destinationId, dir: parent, dirname: temporary)
            _ = try await value(
                of: PydioRequest(.post, "mkdir", made, path: ["dir", "dirname"]), .success(of: "mkdir"))
            var parameters: [String: PydioParameter] = ["nodes": .list([path]), "dest": .text(folder)]
            if let other {
                parameters["dest_repository_id"] = .text(other)
                _ = try await value(of: .editing("cross_copy", workspaceId, parameters), .done(.crossCopy))
            } else {
                _ = try await value(of: .editing("copy", workspaceId, parameters), .success(of: "copy"))
            }
            let target = try await move(destinationId, folder + "/" + name, to: newPath)
            // The copy exists: a leftover empty folder is not a failure.
            await Task { try? await self.deleteForGood(folder, destinationId) }.value
            return target
        } catch {
            // This must run even if the call was cancelled.
            await Task { try? await self.deleteForGood(folder, destinationId) }.value
            throw error
        }
    }

    /// Deletes a node without the bin: it holds nothing that a user could want back.
    private func deleteForGood(_ path: String, _ workspaceId: String) async throws {
        var params = DeleteNodesRequestParams(workspaceId: workspaceId, nodes: [path])
        params.additional["force_deletion"] = "true"
        _ = try await value(of: PydioRequest(.post, "delete", params), .success(of: "delete"))
    }
}

extension PydioRequest {
    /// Returns a request that changes something in a workspace.
    static func editing(
        _ action: String, _ workspaceId: String, _ parameters: [String: PydioParameter], path: [String] = []
    ) -> PydioRequest {
        PydioRequest(
            .post, action, parameters.merging(["tmp_repository_id": .text(workspaceId)]) { $1 }, path: path)
    }
}
