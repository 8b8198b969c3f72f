import PydioProtocol

extension PydioClient {
    /// Returns the user's bookmarks in a workspace.
    public func bookmarks(workspaceId: String) async throws -> [PydioBookmark] {
        try await call(.bookmarks(workspaceId), .bookmarks)
    }

    /// Like the `async` form, but with blocks.
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
    /// - Returns: All bookmarks that the server then lists; empty if it lists none.
    @discardableResult
    public func addBookmark(workspaceId: String, path: String, title: String) async throws -> [PydioBookmark] {
        try await call(
            .bookmarks(
                workspaceId,
                ["bm_action": "add_bookmark", "bm_path": .text(path), "bm_title": .text(title)]), .bookmarks)
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func addBookmark(
        workspaceId: String, path: String, title: String, success: @escaping ([PydioBookmark]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.addBookmark(workspaceId: workspaceId, path: path, title: title)
        }
    }

    /// Changes a bookmark's title.
    ///
    /// - Returns: All bookmarks that the server then lists; empty if it lists none.
    @discardableResult
    public func renameBookmark(workspaceId: String, path: String, title: String) async throws -> [PydioBookmark] {
        try await call(
            .bookmarks(
                workspaceId,
                ["bm_action": "rename_bookmark", "bm_path": .text(path), "bm_title": .text(title)]), .bookmarks)
    }

    /// Like the `async` form, but with blocks.
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
    /// - Returns: All bookmarks that the server then lists; empty if it lists none.
    @discardableResult
    public func deleteBookmark(workspaceId: String, path: String) async throws -> [PydioBookmark] {
        try await call(
            .bookmarks(workspaceId, ["bm_action": "delete_bookmark", "bm_path": .text(path)]), .bookmarks)
    }

    /// Like the `async` form, but with blocks.
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
