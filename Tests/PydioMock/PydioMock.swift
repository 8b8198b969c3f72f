import PydioTestSupport

/// The server of the tests as a process.
@main
struct PydioMock {
    static func main() {}
}
