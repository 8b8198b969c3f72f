import PydioProtocol

extension PydioClient {
    /// Moves nodes from the recycle bin back to where they were deleted. The answer's
    /// ``PydioSuccessResponse/nodesDiff`` says where they are then.
    ///
    /// - Parameter nodes: Their paths in the bin, such as `/recycle_bin/plan.pdf`.
    @discardableResult
    public func restore(workspaceId: String, nodes: [String]) async throws -> PydioSuccessResponse {
        var parameters: [String: PydioParameter] = ["nodes": .list(nodes)]
        // Unless this is the bin, servers answer nothing and do nothing.
        parameters["dir"] = nodes.first.flatMap { PydioRecycleBin.topFolder(of: $0) }.map { .text($0) }
        return try await call(.editing("restore", workspaceId, parameters), .success(of: "restore"))
    }

    /// The same with blocks.
    @discardableResult
    public func restore(
        workspaceId: String, nodes: [String], success: @escaping (PydioSuccessResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.restore(workspaceId: workspaceId, nodes: nodes) }
    }

    /// Deletes everything in the recycle bin for good.
    ///
    /// Servers before version 7 have no request for this and answer it with nothing. What is in the bin is then listed, and
    /// deleted with further requests; if one of them fails, the earlier ones have been carried out.
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

    /// The same with blocks.
    @discardableResult
    public func emptyRecycleBin(
        workspaceId: String, success: @escaping (PydioSuccessResponse) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.emptyRecycleBin(workspaceId: workspaceId) }
    }
}

extension OperationsClient {
    /// PHP takes a thousand parameters of a request unless told otherwise, and drops the others without a word.
    private static let nodesOfARequest = 500

    fileprivate func deleteFromBin(_ workspaceId: String) async throws -> PydioSuccessResponse {
        let top = try await allPages(ListNodesRequestParams(workspaceId: workspaceId))?.children ?? []
        guard let bin = top.first(where: \.isRecycleBin)?.fullPath else { return PydioSuccessResponse() }
        let params = ListNodesRequestParams(workspaceId: workspaceId, path: bin)
        var nodes = (try await allPages(params)?.children ?? []).map(\.fullPath)[...]
        // It goes for good: a path that leads elsewhere is not one to delete.
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
