import PydioProtocol

extension PydioClient {
    /// What the server's file system says of a node, with a digest of its content (section 0, "also there"); nil if there
    /// is none. A server that makes no digests answers without one, or with nothing, which fails with
    /// ``PydioError/Code-swift.enum/receivedNotExpectedAnswer``.
    package func statWithHash(workspaceId: String, path: String) async throws -> PydioNodeStat? {
        let request = PydioRequest(
            .get, "stat_hash", ["tmp_repository_id": .text(workspaceId), "file": .text(path)], path: ["file"])
        return try await call(request, .stat)
    }
}
