import PydioProtocol

extension PydioClient {
    /// A folder with what is in it, alone in an array, as the original has it; nothing if the user may write there but not
    /// read. Of a large folder it is one page: see ``NodeResponse/pagination``.
    public func listNodes(_ params: ListNodesRequestParams) async throws -> [NodeResponse] {
        try await call(PydioRequest(.get, "ls", params, path: ["dir"]), .listing)
    }

    /// The same with blocks.
    @discardableResult
    public func listNodes(
        _ params: ListNodesRequestParams, success: @escaping ([NodeResponse]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.listNodes(params) }
    }

    /// A folder with all that is in it, page by page if it is a large one; nil if the user may not read there. Pages are
    /// fetched one after the other: what is created or deleted meanwhile may be missing, or come twice.
    public func listAllNodes(_ params: ListNodesRequestParams) async throws -> NodeResponse? {
        let operations = try operations()
        return try await operations.call { try await operations.allPages(params) }
    }

    /// The same with blocks.
    @discardableResult
    public func listAllNodes(
        _ params: ListNodesRequestParams, success: @escaping (NodeResponse?) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.listAllNodes(params) }
    }

    /// What the server's file system says of a node; nil if there is none.
    public func stat(workspaceId: String, path: String) async throws -> PydioNodeStat? {
        try await call(.stat(workspaceId: workspaceId, path: path), .stat)
    }

    /// The same with blocks.
    @discardableResult
    public func stat(
        workspaceId: String, path: String, success: @escaping (PydioNodeStat?) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.stat(workspaceId: workspaceId, path: path) }
    }
}

extension PydioRequest {
    static func stat(workspaceId: String, path: String) -> PydioRequest {
        PydioRequest(.get, "stat", ["tmp_repository_id": .text(workspaceId), "file": .text(path)], path: ["file"])
    }
}

extension OperationsClient {
    fileprivate func allPages(_ params: ListNodesRequestParams) async throws -> NodeResponse? {
        var params = params
        params.page = nil
        guard let first = try await page(params) else { return nil }
        guard let pagination = first.pagination, pagination.total > 1 else { return first }
        guard pagination.total <= options.maximumPages else {
            throw PydioError(
                .tooLarge, "the folder has \(pagination.total) pages, more than \(options.maximumPages) (maximumPages)")
        }
        var children = first.children ?? []
        for number in 2...pagination.total {
            params.page = number
            // The folder may have become smaller.
            guard let next = try await page(params), next.pagination?.current ?? 1 == number else { break }
            children += next.children ?? []
        }
        return NodeResponse(
            name: first.name, isLeaf: first.isLeaf, path: first.path, size: first.size, mTime: first.mTime,
            children: children.isEmpty ? nil : children, attributes: first.attributes)
    }

    private func page(_ params: ListNodesRequestParams) async throws -> NodeResponse? {
        try await value(of: PydioRequest(.get, "ls", params, path: ["dir"]), .listing).first
    }
}
