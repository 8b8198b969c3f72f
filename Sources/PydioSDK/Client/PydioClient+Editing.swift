import PydioProtocol

// Each of these gives the server's words and what has changed.
extension PydioClient {
    /// Makes a folder.
    @discardableResult
    public func mkdir(_ params: MkDirRequestParams) async throws -> PydioSuccessResponse {
        try await call(PydioRequest(.post, "mkdir", params, path: ["dir", "dirname"]), .success(of: "mkdir"))
    }

    /// The same with blocks.
    @discardableResult
    public func mkdir(
        _ params: MkDirRequestParams, success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.mkdir(params) }
    }

    /// Makes a file.
    ///
    /// - Parameters:
    ///   - dir: The folder that it will be in.
    ///   - fileName: Its name.
    ///   - content: What is in it; nothing by default.
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

    /// The same with blocks.
    @discardableResult
    public func mkfile(
        workspaceId: String, dir: String, fileName: String, content: String = "",
        success: @escaping (PydioSuccessResponse) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.mkfile(workspaceId: workspaceId, dir: dir, fileName: fileName, content: content)
        }
    }

    /// Deletes nodes. With a recycle bin they go there; what is there already is gone for good.
    @discardableResult
    public func deleteNodes(_ params: DeleteNodesRequestParams) async throws -> PydioSuccessResponse {
        try await call(
            PydioRequest(.post, "delete", params, path: params.nodes.count == 1 ? ["nodes"] : []),
            .success(of: "delete"))
    }

    /// The same with blocks.
    @discardableResult
    public func deleteNodes(
        _ params: DeleteNodesRequestParams, success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.deleteNodes(params) }
    }

    /// Gives a node another name in its folder.
    ///
    /// - Parameter newName: The name alone.
    @discardableResult
    public func rename(workspaceId: String, path: String, newName: String) async throws -> PydioSuccessResponse {
        guard !newName.contains("/") else {
            throw PydioError(.invalidArgument, "a name has no slash; nothing was sent. To move nodes there is move")
        }
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
        return try await call(
            .editing(
                "rename", workspaceId,
                ["file": .text(path), "filename_new": .text(newName), "dest": .text(folder + newName)]),
            .success(of: "rename"))
    }

    /// The same with blocks.
    @discardableResult
    public func rename(
        workspaceId: String, path: String, newName: String, success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.rename(workspaceId: workspaceId, path: path, newName: newName) }
    }

    /// Moves nodes into another folder of the workspace.
    ///
    /// - Parameter destination: The folder.
    @discardableResult
    public func move(workspaceId: String, nodes: [String], destination: String) async throws -> PydioSuccessResponse {
        try await call(
            .editing("move", workspaceId, ["nodes": .list(nodes), "dest": .text(destination)]),
            .success(of: "move"))
    }

    /// The same with blocks.
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
    /// - Parameter destination: The folder.
    @discardableResult
    public func copy(workspaceId: String, nodes: [String], destination: String) async throws -> PydioSuccessResponse {
        try await call(
            .editing("copy", workspaceId, ["nodes": .list(nodes), "dest": .text(destination)]),
            .success(of: "copy"))
    }

    /// The same with blocks.
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

extension PydioRequest {
    /// A request that changes something in a workspace.
    static func editing(
        _ action: String, _ workspaceId: String, _ parameters: [String: PydioParameter], path: [String] = []
    ) -> PydioRequest {
        PydioRequest(
            .post, action, parameters.merging(["tmp_repository_id": .text(workspaceId)]) { $1 }, path: path)
    }
}
