import PydioProtocol

extension PydioClient {
    /// Returns the content of a file in memory, limited by ``PydioClientOptions/maximumResponseSize``. Use downloads
    /// for larger files.
    public func getContent(workspaceId: String, path: String) async throws -> Data {
        let request = PydioRequest(
            .get, "get_content", ["tmp_repository_id": .text(workspaceId), "file": .text(path)], path: ["file"])
        return try await call(request, .bytes(of: "the request for a file's content"))
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func getContent(
        workspaceId: String, path: String, success: @escaping (Data) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.getContent(workspaceId: workspaceId, path: path)
        }
    }

    /// Replaces the content of an existing file. Use uploads for larger contents.
    @discardableResult
    public func putContent(workspaceId: String, path: String, content: Data) async throws -> PydioSuccessResponse {
        // Without base64, the server changes characters that look like markup.
        try await call(
            .editing(
                "put_content", workspaceId,
                ["file": .text(path), "content": .text(content.base64EncodedString()), "encode": "base64"]), .putContent
        )
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func putContent(
        workspaceId: String, path: String, content: Data, success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.putContent(workspaceId: workspaceId, path: path, content: content)
        }
    }
}
