struct Price: Encodable { var value: Int }

func article(socketID: String, channelName: String) async throws {
    // BLOCKS
}
