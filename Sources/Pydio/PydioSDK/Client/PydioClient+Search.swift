import PydioProtocol

// Operations that a server lacks fail with `unsupportedOperation` before they change anything.
extension PydioClient {
    /// Finds files and folders of a workspace by name, and by content if the server indexes it.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without an index, and with
    /// ``PydioError/Code-swift.enum/errorResponse`` while the index is being built.
    ///
    /// - Parameters:
    ///   - query: Words; `*` matches any characters. Servers have their own query language.
    ///   - limit: The maximum number of results. `nil`, the default, returns all that the server sends.
    /// - Returns: The results in the server's order, usually best first. The server's score is `search_score` in
    ///   ``NodeResponse/attributes``.
    public func search(workspaceId: String, query: String, limit: Int? = nil) async throws -> [NodeResponse] {
        guard query.contains(where: { !$0.isWhitespace }) else {
            throw PydioError(.invalidArgument, "a search needs something to look for; nothing was sent")
        }
        var parameters: [String: PydioParameter] = ["tmp_repository_id": .text(workspaceId), "query": .text(query)]
        parameters["limit"] = limit.map { .text(String($0)) }
        let found = try await call(PydioRequest(.get, "search", parameters), .searchResults)
        // Older servers don't support a limit.
        return limit.map { Array(found.prefix(max($0, 0))) } ?? found
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func search(
        workspaceId: String, query: String, limit: Int? = nil, success: @escaping ([NodeResponse]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.search(workspaceId: workspaceId, query: query, limit: limit) }
    }

    /// Returns the activities of users in a workspace, newest first.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without a feed.
    ///
    /// - Parameters:
    ///   - offset: The number of the newest entries to skip. Servers before version 5.2 don't support an offset and
    ///     return 10.
    ///   - limit: The maximum number of entries.
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
                // The answer is empty if there are none, and also if there is no feed.
                try await operations.require(.activities, in: workspaceId)
                return []
            }
            return Array(activities.prefix(max(limit, 0)))
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func activities(
        workspaceId: String, offset: Int = 0, limit: Int = 15, success: @escaping ([PydioActivity]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.activities(workspaceId: workspaceId, offset: offset, limit: limit)
        }
    }

    /// Returns a workspace's used and total storage.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without quotas.
    public func quota(workspaceId: String) async throws -> PydioQuota {
        try await call(PydioRequest(.get, "monitor_quota", ["tmp_repository_id": .text(workspaceId)]), .quota)
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func quota(
        workspaceId: String, success: @escaping (PydioQuota) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.quota(workspaceId: workspaceId) }
    }
}

extension OperationsClient {
    /// Fails unless the server reports that it offers the operation. For operations whose success also has an empty
    /// answer.
    func require(_ operation: OptionalOperation, in workspaceId: String) async throws {
        guard try await filledRegistry("actions", in: workspaceId).actionNames.contains(operation.rawValue) else {
            throw PydioError.unsupported(operation)
        }
    }
}
