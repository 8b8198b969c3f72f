struct Price: Decodable {}

func article() async throws {
    // BLOCKS
}
