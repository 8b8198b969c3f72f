import PydioProtocol

extension PydioClient {
    /// Sets fields of a node's metadata; the others keep their values. For the available fields, see
    /// ``NodeResponse/metadataFields`` of ``node(workspaceId:path:)``.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without metadata, and with
    /// ``PydioError/Code-swift.enum/invalidArgument`` if the workspace has no such field: servers would ignore it.
    ///
    /// - Parameter values: The values by field name; an empty string clears a field.
    @discardableResult
    public func setMetadata(
        workspaceId: String, path: String, values: [String: String]
    ) async throws -> PydioSuccessResponse {
        let operations = try operations()
        return try await operations.call {
            let node = try await operations.existingNode(workspaceId, path)
            let fields = node.metadataFields.map(\.name)
            guard !fields.isEmpty else { throw PydioError.unsupported(.nodeMetadata) }
            if let unknown = values.keys.sorted().first(where: { !fields.contains($0) }) {
                throw PydioError(
                    .invalidArgument,
                    "the workspace has no metadata field \(unknown), only \(fields.joined(separator: ", ")); "
                        + "nothing was sent")
            }
            let parameters = values.mapValues { PydioParameter.text($0) }.merging(["file": .text(path)]) { $1 }
            return try await operations.value(
                of: .editing("edit_user_meta", workspaceId, parameters), .done(.nodeMetadata))
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func setMetadata(
        workspaceId: String, path: String, values: [String: String],
        success: @escaping (PydioSuccessResponse) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.setMetadata(workspaceId: workspaceId, path: path, values: values)
        }
    }

    // MARK: Comments

    /// Returns the comments on a node, oldest first.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without comments, like the other
    /// calls for comments.
    public func comments(workspaceId: String, path: String) async throws -> [PydioComment] {
        try await call(.comments(workspaceId, path), .comments)
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func comments(
        workspaceId: String, path: String, success: @escaping ([PydioComment]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.comments(workspaceId: workspaceId, path: path) }
    }

    /// Adds a comment to a node. Servers may truncate a long one, by default at 1,000 characters.
    ///
    /// - Returns: The comment as stored by the server.
    @discardableResult
    public func addComment(workspaceId: String, path: String, content: String) async throws -> PydioComment {
        try await call(
            .editing("post_comment", workspaceId, ["file": .text(path), "content": .text(content)]), .comment)
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func addComment(
        workspaceId: String, path: String, content: String, success: @escaping (PydioComment) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.addComment(workspaceId: workspaceId, path: path, content: content)
        }
    }

    /// Deletes a comment returned by ``comments(workspaceId:path:)``. Fails if it still exists afterwards: servers let
    /// users delete only their own comments, but report no error for others.
    public func deleteComment(workspaceId: String, path: String, comment: PydioComment) async throws {
        let operations = try operations()
        try await operations.call {
            let request = PydioRequest.editing(
                "delete_comment", workspaceId, ["file": .text(path), "comment_data": .text(comment.identity)])
            try await operations.value(of: request, .commentRemoval)
            guard try await !operations.value(of: .comments(workspaceId, path), .comments).contains(comment) else {
                throw PydioError(
                    .errorResponse,
                    "the server has kept the comment of \(comment.author) on \(path): users can delete their own")
            }
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func deleteComment(
        workspaceId: String, path: String, comment: PydioComment, success: @escaping () -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) {
            try await self.deleteComment(workspaceId: workspaceId, path: path, comment: comment)
        }
    }
}

extension OperationsClient {
    /// Returns a node as listed in its folder. Fails if there is no such node.
    func existingNode(_ workspaceId: String, _ path: String) async throws -> NodeResponse {
        guard let node = try await node(workspaceId, path) else {
            throw PydioError(.invalidArgument, "there is no \(path) in the workspace \(workspaceId)")
        }
        return node
    }
}

extension PydioRequest {
    fileprivate static func comments(_ workspaceId: String, _ path: String) -> PydioRequest {
        PydioRequest(.get, "load_comments_feed", ["tmp_repository_id": .text(workspaceId), "file": .text(path)])
    }
}
