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
    /// fetched one after the other: what is created or deleted meanwhile may be missing, or come twice. If there are fewer
    /// pages all at once, it begins anew, and fails if that happens again.
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
    func allPages(_ params: ListNodesRequestParams) async throws -> NodeResponse? {
        for _ in 0..<2 {
            switch try await allPagesOnce(params) {
            case .whole(let node): return node
            case .pagesAreGone: continue
            }
        }
        throw PydioError(
            .receivedNotExpectedAnswer, "the folder has changed twice while its pages were fetched; it was not listed")
    }

    private enum Pages {
        case whole(NodeResponse?)
        case pagesAreGone
    }

    private func allPagesOnce(_ params: ListNodesRequestParams) async throws -> Pages {
        var params = params
        params.page = nil
        guard let first = try await page(params) else { return .whole(nil) }
        var children = first.children ?? []
        var size = first.textSize
        var (number, total) = (1, first.pagination?.total ?? 1)
        guard total > 1 else { return .whole(first) }
        while number < total {
            guard total <= options.maximumPages else {
                throw PydioError(
                    .tooLarge, "the folder has \(total) pages, more than \(options.maximumPages) (maximumPages)")
            }
            number += 1
            params.page = number
            guard let next = try await page(params) else { return .pagesAreGone }
            // The folder has become small enough to come whole.
            guard let pagination = next.pagination else { return .whole(next) }
            guard pagination.current == number else { return .pagesAreGone }
            size += next.textSize
            guard size <= options.maximumListingSize else {
                throw PydioError(
                    .tooLarge,
                    "the names and attributes in the folder have more than \(options.maximumListingSize) bytes "
                        + "(maximumListingSize)")
            }
            children += next.children ?? []
            total = pagination.total
        }
        return .whole(
            NodeResponse(
                name: first.name, isLeaf: first.isLeaf, path: first.path, size: first.size, mTime: first.mTime,
                children: children.isEmpty ? nil : children, attributes: first.attributes))
    }

    private func page(_ params: ListNodesRequestParams) async throws -> NodeResponse? {
        try await value(of: PydioRequest(.get, "ls", params, path: ["dir"]), .listing).first
    }
}

extension NodeResponse {
    /// Bytes of its names, paths and attributes, and of those of all in it.
    fileprivate var textSize: Int {
        var size = 0
        var waiting = [self]
        while let node = waiting.popLast() {
            size += node.name.utf8.count + node.path.utf8.count
            for (name, value) in node.attributes { size += name.utf8.count + value.utf8.count }
            waiting += node.children ?? []
        }
        return size
    }
}
