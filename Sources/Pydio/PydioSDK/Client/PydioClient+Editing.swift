import Basics
import PydioProtocol

// Most of these give the server's words and what has changed: servers may make another name of one that they are sent.
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
            PydioRequest(.post, "delete", params), .success(of: "delete"))
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
        guard !newName.hasSlash else {
            throw PydioError(.invalidArgument, "a name has no slash; nothing was sent. To move nodes there is move")
        }
        // With the whole path as well, servers ignore the name, and their answer tells neither.
        return try await call(
            .editing("rename", workspaceId, ["file": .text(path), "filename_new": .text(newName)]),
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

// Servers' answers to these do not tell where the node is: it is looked for.
extension PydioClient {
    /// Moves a node to another place in its workspace, under another name if need be. Fails if something is there already.
    ///
    /// - Parameter newPath: Where it will be. Servers leave out some characters of names, such as quotation marks.
    /// - Returns: Where it is.
    @discardableResult
    public func move(workspaceId: String, path: String, to newPath: String) async throws -> String {
        let operations = try operations()
        return try await operations.call { try await operations.move(workspaceId, path, to: newPath) }
    }

    /// The same with blocks.
    @discardableResult
    public func move(
        workspaceId: String, path: String, to newPath: String, success: @escaping (String) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.move(workspaceId: workspaceId, path: path, to: newPath) }
    }

    /// Copies a node to another place in its workspace, under another name if need be: in the same folder, too. Fails if
    /// something is there already.
    ///
    /// The copy is made in a new folder beside the place, which is deleted afterwards. If the server refuses that, the empty
    /// folder stays.
    ///
    /// - Parameter newPath: Where the copy will be. Servers leave out some characters of names, such as quotation marks.
    /// - Returns: Where the copy is.
    @discardableResult
    public func copy(workspaceId: String, path: String, to newPath: String) async throws -> String {
        let operations = try operations()
        return try await operations.call { try await operations.copy(workspaceId, path, to: newPath) }
    }

    /// The same with blocks.
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
        // A whole path is taken as it is: the name would be one that other requests cannot give.
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

    /// - Parameter other: The workspace that it goes to; nil is its own.
    func copy(
        _ workspaceId: String, _ path: String, to newPath: String, in other: String? = nil
    ) async throws -> String {
        let destinationId = other ?? workspaceId
        // There is nothing to undo if the login is refused.
        if authorization.hasNoPass { try await authorize() }
        let name = NodeName.split(path).name
        // In a folder of its own the copy has the name of its original, and nothing is in its way.
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
            // The copy is there: an empty folder that stays is no failure of it.
            await Task { try? await self.deleteForGood(folder, destinationId) }.value
            return target
        } catch {
            // The call may have been cancelled; this is not.
            await Task { try? await self.deleteForGood(folder, destinationId) }.value
            throw error
        }
    }

    /// Not by way of the bin: there is nothing in it that somebody could want back.
    private func deleteForGood(_ path: String, _ workspaceId: String) async throws {
        var params = DeleteNodesRequestParams(workspaceId: workspaceId, nodes: [path])
        params.additional["force_deletion"] = "true"
        _ = try await value(of: PydioRequest(.post, "delete", params), .success(of: "delete"))
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
