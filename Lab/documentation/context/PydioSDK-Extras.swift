func article(client: PydioClient) async throws {
    // BLOCKS
}
