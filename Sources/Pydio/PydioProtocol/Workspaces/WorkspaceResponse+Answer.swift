extension WorkspaceResponse {
    /// Returns the workspaces in a part of the registry (6.1); `nil` if it is something else.
    static func list(in root: XMLNode) -> [WorkspaceResponse]? {
        guard root.name == "ajxp_registry_part", let repositories = root.child("repositories") else { return nil }
        return repositories.children("repo").compactMap { WorkspaceResponse($0) }
    }

    private init?(_ repository: XMLNode) {
        guard let id = repository["id"], !id.isEmpty else { return nil }
        self.init(
            workspaceId: id, label: repository.child("label")?.text, description: repository.child("description")?.text,
            accessType: repository["access_type"], slug: repository["repositorySlug"], owner: repository["owner"],
            attributes: repository.attributes)
    }
}
