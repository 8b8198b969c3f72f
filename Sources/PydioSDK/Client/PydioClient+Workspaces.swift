import PydioProtocol

extension PydioClient {
    /// The workspaces that the user may open; those that hold files are ``WorkspaceResponse/isFileStore``.
    public func listWorkspaces() async throws -> [WorkspaceResponse] {
        var request = PydioRequest(.get, "get_xml_registry", ["xPath": "user/repositories"], path: ["xPath"])
        request.restAction = ["state"]
        return try await call(request, .workspaces)
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
        var request = PydioRequest(.get, "get_xml_registry", ["xPath": .text(xPath)], path: ["xPath"])
        request.restAction = ["state"]
        let part = try await call(request, .document(of: "the request for the registry"))
        guard part.children.isEmpty else { return part }
        // Who is not logged in gets an empty part, which only that of the workspaces never is otherwise.
        _ = try await listWorkspaces()
        return try await call(request, .document(of: "the request for the registry"))
    }
}
