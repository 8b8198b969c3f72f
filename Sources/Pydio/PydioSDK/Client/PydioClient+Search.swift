import PydioProtocol

// What not every server has fails with `unsupportedOperation` where it is missing, before anything is changed.
extension PydioClient {
    /// Finds files and folders of a workspace by their names, and by their contents where the server indexes those.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without an index, and with
    /// ``PydioError/Code-swift.enum/errorResponse`` while the index is being made.
    ///
    /// - Parameters:
    ///   - query: Words; `*` stands for any characters. Servers have a query language of their own.
    ///   - limit: At most so many. Nil, the default: as many as the server gives.
    /// - Returns: In the server's order, the best first as a rule. The server gives them a number, `search_score` of
    ///   ``NodeResponse/attributes``.
    public func search(workspaceId: String, query: String, limit: Int? = nil) async throws -> [NodeResponse] {
        guard query.contains(where: { !$0.isWhitespace }) else {
            throw PydioError(.invalidArgument, "a search needs something to look for; nothing was sent")
        }
        var parameters: [String: PydioParameter] = ["tmp_repository_id": .text(workspaceId), "query": .text(query)]
        parameters["limit"] = limit.map { .text(String($0)) }
        let found = try await call(PydioRequest(.get, "search", parameters), .searchResults)
        // Older servers know no limit.
        return limit.map { Array(found.prefix(max($0, 0))) } ?? found
    }

    /// The same with blocks.
    @discardableResult
    public func search(
        workspaceId: String, query: String, limit: Int? = nil, success: @escaping ([NodeResponse]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.search(workspaceId: workspaceId, query: query, limit: limit) }
    }

    /// What users have done in a workspace, the newest first.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server that keeps no feed.
    ///
    /// - Parameters:
    ///   - offset: So many of the newest are left out. Servers before version 5.2 take no offset and give 10.
    ///   - limit: At most so many.
    public func activities(workspaceId: String, offset: Int = 0, limit: Int = 15) async throws -> [PydioActivity] {
        let request = PydioRequest(
            .get, "get_my_feed",
            [
                "tmp_repository_id": .text(workspaceId), "repository_id": .text(workspaceId), "format": "xml",
                "feed_type": "notif", "offset": .text(String(offset)), "limit": .text(String(limit)),
            ])
        let operations = try operations()
        return try await operations.call {
            guard let activities = try await operations.value(of: request, .activities) else {
                // There may be none, or no feed: both are answered with nothing.
                try await operations.require(.activities, in: workspaceId)
                return []
            }
            return Array(activities.prefix(max(limit, 0)))
        }
    }

    /// The same with blocks.
    @discardableResult
    public func activities(
        workspaceId: String, offset: Int = 0, limit: Int = 15, success: @escaping ([PydioActivity]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.activities(workspaceId: workspaceId, offset: offset, limit: limit)
        }
    }

    /// How much of a workspace's storage is in use, and of how much.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server that does not count it.
    public func quota(workspaceId: String) async throws -> PydioQuota {
        try await call(PydioRequest(.get, "monitor_quota", ["tmp_repository_id": .text(workspaceId)]), .quota)
    }

    /// The same with blocks.
    @discardableResult
    public func quota(
        workspaceId: String, success: @escaping (PydioQuota) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.quota(workspaceId: workspaceId) }
    }
}

extension OperationsClient {
    /// Fails unless the server says that it offers the operation. For those whose success is answered with nothing as well.
    func require(_ operation: OptionalOperation, in workspaceId: String) async throws {
        guard try await filledRegistry("actions", in: workspaceId).actionNames.contains(operation.rawValue) else {
            throw PydioError.unsupported(operation)
        }
    }
}
