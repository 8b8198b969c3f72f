import Testing

func article() async throws {
    // BLOCKS
}
