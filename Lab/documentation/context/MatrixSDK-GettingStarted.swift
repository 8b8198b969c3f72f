func save(_ credentials: MXCredentials) throws {}

func article(password: String) async throws {
    // BLOCKS
}
