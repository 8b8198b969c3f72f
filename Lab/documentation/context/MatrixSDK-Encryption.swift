func show(_ content: some Sendable) {}

func article(credentials: MXCredentials, password: String, recoveryKey: String) async throws {
    // BLOCKS
}
