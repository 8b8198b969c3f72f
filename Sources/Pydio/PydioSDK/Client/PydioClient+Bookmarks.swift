import PydioProtocol

extension PydioClient {
    /// The user's bookmarks in a workspace.
    public func bookmarks(workspaceId: String) async throws -> [PydioBookmark] {
        try await call(.bookmarks(workspaceId), .bookmarks)
    }

    /// The same with blocks.
    @discardableResult
    public func bookmarks(
        workspaceId: String, success: @escaping ([PydioBookmark]) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.bookmarks(workspaceId: workspaceId)
        }
    }

    /// Adds a bookmark.
    ///
    /// - Returns: All that the server then lists; none if it does not.
    @discardableResult
    public func addBookmark(workspaceId: String, path: String, title: String) async throws -> [PydioBookmark] {
        try await call(
            .bookmarks(
                workspaceId,
                ["bm_action": "add_bookmark", "bm_path": .text(path), "bm_title": .text(title)]), .bookmarks)
    }

    /// The same with blocks.
    @discardableResult
    public func addBookmark(
        workspaceId: String, path: String, title: String, success: @escaping ([PydioBookmark]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.addBookmark(workspaceId: workspaceId, path: path, title: title)
        }
    }

    /// Gives a bookmark another title.
    ///
    /// - Returns: All that the server then lists; none if it does not.
    @discardableResult
    public func renameBookmark(workspaceId: String, path: String, title: String) async throws -> [PydioBookmark] {
        try await call(
            .bookmarks(
                workspaceId,
                ["bm_action": "rename_bookmark", "bm_path": .text(path), "bm_title": .text(title)]), .bookmarks)
    }

    /// The same with blocks.
    @discardableResult
    public func renameBookmark(
        workspaceId: String, path: String, title: String, success: @escaping ([PydioBookmark]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.renameBookmark(workspaceId: workspaceId, path: path, title: title)
        }
    }

    /// Deletes a bookmark; the node stays.
    ///
    /// - Returns: All that the server then lists; none if it does not.
    @discardableResult
    public func deleteBookmark(workspaceId: String, path: String) async throws -> [PydioBookmark] {
        try await call(
            .bookmarks(workspaceId, ["bm_action": "delete_bookmark", "bm_path": .text(path)]), .bookmarks)
    }

    /// The same with blocks.
    @discardableResult
    public func deleteBookmark(
        workspaceId: String, path: String, success: @escaping ([PydioBookmark]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.deleteBookmark(workspaceId: workspaceId, path: path)
        }
    }
}

extension PydioRequest {
    static func bookmarks(_ workspaceId: String, _ parameters: [String: PydioParameter] = [:]) -> PydioRequest {
        .editing("get_bookmarks", workspaceId, parameters)
    }
}
