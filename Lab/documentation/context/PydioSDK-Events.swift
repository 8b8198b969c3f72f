func article(client: PydioClient, eventsOfAnotherWorkspace: PydioWorkspaceEvents) async throws {
    // BLOCKS
}
