func article(session: MXSession) async throws {
    // BLOCKS
}
