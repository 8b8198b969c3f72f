import PydioProtocol

extension PydioClient {
    /// Moves nodes from the recycle bin back to where they were deleted. For their new paths, see the answer's
    /// ``PydioSuccessResponse/nodesDiff``.
    ///
    /// - Parameter nodes: The nodes' paths in the bin, such as `/recycle_bin/plan.pdf`.
    @discardableResult
    public func restore(workspaceId: String, nodes: [String]) async throws -> PydioSuccessResponse {
        var parameters: [String: PydioParameter] = ["nodes": .list(nodes)]
        // Unless this is the bin, servers do nothing and send an empty answer.
        parameters["dir"] = nodes.first.flatMap { PydioRecycleBin.topFolder(of: $0) }.map { .text($0) }
        return try await call(.editing("restore", workspaceId, parameters), .success(of: "restore"))
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func restore(
        workspaceId: String, nodes: [String], success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.restore(workspaceId: workspaceId, nodes: nodes) }
    }

    /// Permanently deletes everything in the recycle bin.
    ///
    /// Servers before version 7 have no request for this and send an empty answer. The client then lists the bin's
    /// contents and deletes them with further requests; if one of them fails, the earlier ones stay in effect.
    @discardableResult
    public func emptyRecycleBin(workspaceId: String) async throws -> PydioSuccessResponse {
        let operations = try operations()
        return try await operations.call {
            let answer = try await operations.value(
                of: .editing("empty_recycle", workspaceId, [:]), .successOrNothing(of: "empty_recycle"))
            guard answer == PydioSuccessResponse() else { return answer }
            return try await operations.deleteFromBin(workspaceId)
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func emptyRecycleBin(
        workspaceId: String, success: @escaping (PydioSuccessResponse) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.emptyRecycleBin(workspaceId: workspaceId) }
    }
}

extension OperationsClient {
    /// The maximum number of nodes in a request. By default, PHP accepts a thousand parameters of a request and
    /// silently drops the others.
    private static let nodesOfARequest = 500

    fileprivate func deleteFromBin(_ workspaceId: String) async throws -> PydioSuccessResponse {
        let top = try await allPages(ListNodesRequestParams(workspaceId: workspaceId))?.children ?? []
        guard let bin = top.first(where: \.isRecycleBin)?.fullPath else { return PydioSuccessResponse() }
        let params = ListNodesRequestParams(workspaceId: workspaceId, path: bin)
        var nodes = (try await allPages(params)?.children ?? []).map(\.fullPath)[...]
        // Deletion is permanent, so don't delete a path outside of the bin.
        guard nodes.allSatisfy({ $0.utf8.starts(with: (bin + "/").utf8) }) else {
            throw PydioError(
                .receivedNotExpectedAnswer,
                "the server lists nodes in the recycle bin that are not there; nothing is deleted"
            )
        }
        var changes: [NodesDiff.Change] = []
        var message: String?
        while !nodes.isEmpty {
            let answer = try await value(
                of: .editing(
                    "delete", workspaceId,
                    ["nodes": .list(Array(nodes.prefix(Self.nodesOfARequest))), "dir": .text(bin)]),
                .success(of: "delete"))
            nodes = nodes.dropFirst(Self.nodesOfARequest)
            changes += answer.nodesDiff?.changes ?? []
            message = answer.message ?? message
        }
        return PydioSuccessResponse(message: message, nodesDiff: changes.isEmpty ? nil : NodesDiff(changes))
    }
}
