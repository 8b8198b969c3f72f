import Basics
import PydioProtocol

extension PydioClient {
    /// Returns a folder with its entries, as the only element of an array, as in the original library; an empty array
    /// if the user may write there but not read. For a large folder, returns one page: see ``NodeResponse/pagination``.
    public func listNodes(_ params: ListNodesRequestParams) async throws -> [NodeResponse] {
        try await call(.list(params), .listing)
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func listNodes(
        _ params: ListNodesRequestParams, success: @escaping ([NodeResponse]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.listNodes(params) }
    }

    /// Returns a folder with all its entries, fetched page by page if it is large; `nil` if the user may not read
    /// there. Pages are fetched one after the other, so entries created or deleted meanwhile may be missing or appear
    /// twice. If the number of pages suddenly drops, the call starts over, and fails if that happens again.
    public func listAllNodes(_ params: ListNodesRequestParams) async throws -> NodeResponse? {
        let operations = try operations()
        return try await operations.call { try await operations.allPages(params) }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func listAllNodes(
        _ params: ListNodesRequestParams, success: @escaping (NodeResponse?) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.listAllNodes(params) }
    }

    /// Returns a node's properties in the server's file system; `nil` if there is no such node.
    public func stat(workspaceId: String, path: String) async throws -> PydioNodeStat? {
        try await call(.stat(workspaceId: workspaceId, path: path), .stat)
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func stat(
        workspaceId: String, path: String, success: @escaping (PydioNodeStat?) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.stat(workspaceId: workspaceId, path: path) }
    }

    /// Like ``stat(workspaceId:path:)``, but with ``PydioNodeStat/contentHash``: for a file its MD5 in hexadecimal
    /// digits, for which the server reads the whole file; for a folder the word `directory`.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without hashes.
    public func statWithHash(workspaceId: String, path: String) async throws -> PydioNodeStat? {
        try await call(
            PydioRequest(
                .get, "stat_hash", ["tmp_repository_id": .text(workspaceId), "file": .text(path)], path: ["file"]),
            .statWithHash)
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func statWithHash(
        workspaceId: String, path: String, success: @escaping (PydioNodeStat?) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.statWithHash(workspaceId: workspaceId, path: path) }
    }

    /// Returns a node as listed in its folder, with all its attributes; `nil` if there is no such node.
    public func node(workspaceId: String, path: String) async throws -> NodeResponse? {
        let operations = try operations()
        return try await operations.call { try await operations.node(workspaceId, path) }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func node(
        workspaceId: String, path: String, success: @escaping (NodeResponse?) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.node(workspaceId: workspaceId, path: path) }
    }
}

extension PydioRequest {
    /// Returns the request for a listing. Servers interpret text after `%23` as a page number, and would list another
    /// folder.
    static func list(_ params: ListNodesRequestParams) throws(PydioError) -> PydioRequest {
        guard !params.path.contains("%23") else { throw .pageMark(in: "dir", of: "ls") }
        return PydioRequest(.get, "ls", params, path: ["dir"])
    }

    static func stat(workspaceId: String, path: String) -> PydioRequest {
        PydioRequest(.get, "stat", ["tmp_repository_id": .text(workspaceId), "file": .text(path)], path: ["file"])
    }
}

extension OperationsClient {
    func node(_ workspaceId: String, _ path: String) async throws -> NodeResponse? {
        let (folder, name) = NodeName.split(path)
        var params = ListNodesRequestParams(workspaceId: workspaceId, path: folder)
        guard !name.isEmpty else { return try await page(params) }
        params.file = name
        let prefix = folder == "/" ? "/" : folder + "/"
        // Compare bytes: two spellings of a letter are two names.
        return try await page(params)?.children?.first { $0.fullPath.isExactly(prefix + name) }
    }

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
            // The folder has become small enough to be sent whole.
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
        try await value(of: .list(params), .listing).first
    }
}

extension NodeResponse {
    /// The total bytes of names, paths and attributes of this node and its contents.
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
