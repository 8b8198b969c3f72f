func show(_ image: Data) -> String { "" }
func loadCaptcha() {}

func article(password: String, local: URL, target: URL, error: PydioError) async throws {
    // BLOCKS
}
