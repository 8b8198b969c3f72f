import PydioProtocol

extension PydioClient {
    /// Returns the workspaces that the user may open. For those that hold files, ``WorkspaceResponse/isFileStore`` is
    /// true.
    public func listWorkspaces() async throws -> [WorkspaceResponse] {
        try await call(.registry("user/repositories"), .workspaces)
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func listWorkspaces(
        success: @escaping ([WorkspaceResponse]) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.listWorkspaces() }
    }

    /// Returns a part of the server's registry, which describes the server and the user.
    package func registry(_ xPath: String) async throws -> XMLNode {
        let operations = try operations()
        return try await operations.call { try await operations.filledRegistry(xPath) }
    }
}

extension OperationsClient {
    func registry(_ xPath: String, in workspaceId: String? = nil) async throws -> XMLNode {
        try await value(of: .registry(xPath, in: workspaceId), .document(of: "the request for the registry"))
    }

    /// Returns a part of the registry, after a login if necessary.
    func filledRegistry(_ xPath: String, in workspaceId: String? = nil) async throws -> XMLNode {
        let part = try await registry(xPath, in: workspaceId)
        guard part.children.isEmpty else { return part }
        // A client that is not logged in receives an empty part. Only the part with the workspaces is never empty
        // otherwise.
        _ = try await value(of: .registry("user/repositories"), .workspaces)
        return try await registry(xPath, in: workspaceId)
    }
}

extension PydioRequest {
    static func registry(_ xPath: String, in workspaceId: String? = nil) -> PydioRequest {
        var parameters: [String: PydioParameter] = ["xPath": .text(xPath)]
        parameters["tmp_repository_id"] = workspaceId.map { .text($0) }
        var request = PydioRequest(.get, "get_xml_registry", parameters, path: ["xPath"])
        request.restAction = ["state"]
        return request
    }
}
