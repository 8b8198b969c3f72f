func ask(showing image: Data) async -> String { "" }

func article(client: PydioClient) async throws {
    var workspaces: [WorkspaceResponse] = []
    // BLOCKS
}
