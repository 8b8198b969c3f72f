import PydioProtocol

extension PydioClient {
    /// What is in a file, in memory; bounded by ``PydioClientOptions/maximumResponseSize``. For larger ones there are
    /// downloads.
    public func getContent(workspaceId: String, path: String) async throws -> Data {
        let request = PydioRequest(
            .get, "get_content", ["tmp_repository_id": .text(workspaceId), "file": .text(path)], path: ["file"])
        return try await call(request, .bytes(of: "the request for a file's content"))
    }

    /// The same with blocks.
    @discardableResult
    public func getContent(
        workspaceId: String, path: String, success: @escaping (Data) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.getContent(workspaceId: workspaceId, path: path)
        }
    }

    /// Replaces what is in a file that exists. For larger contents there are uploads.
    @discardableResult
    public func putContent(workspaceId: String, path: String, content: Data) async throws -> PydioSuccessResponse {
        // Without base64 the server changes characters that look like markup.
        try await call(
            .editing(
                "put_content", workspaceId,
                ["file": .text(path), "content": .text(content.base64EncodedString()), "encode": "base64"]), .putContent
        )
    }

    /// The same with blocks.
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
