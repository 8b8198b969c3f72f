import PydioProtocol

extension PydioClient {
    /// The workspaces that the user may open; those that hold files are ``WorkspaceResponse/isFileStore``.
    public func listWorkspaces() async throws -> [WorkspaceResponse] {
        try await call(.registry("user/repositories"), .workspaces)
    }

    /// The same with blocks.
    @discardableResult
    public func listWorkspaces(
        success: @escaping ([WorkspaceResponse]) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.listWorkspaces() }
    }

    /// A part of what the server knows of itself and the user.
    package func registry(_ xPath: String) async throws -> XMLNode {
        let operations = try operations()
        return try await operations.call {
            let part = try await operations.registry(xPath)
            guard part.children.isEmpty else { return part }
            // A client that is not logged in gets an empty part, which only that of the workspaces never is otherwise.
            _ = try await operations.value(of: .registry("user/repositories"), .workspaces)
            return try await operations.registry(xPath)
        }
    }
}

extension OperationsClient {
    func registry(_ xPath: String) async throws -> XMLNode {
        try await value(of: .registry(xPath), .document(of: "the request for the registry"))
    }
}

extension PydioRequest {
    static func registry(_ xPath: String) -> PydioRequest {
        var request = PydioRequest(.get, "get_xml_registry", ["xPath": .text(xPath)], path: ["xPath"])
        request.restAction = ["state"]
        return request
    }
}
