import PydioSDK

func article(client: PydioClient, folder: URL) async throws {
    // BLOCKS
}
