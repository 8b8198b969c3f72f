import TestSupport
import Testing

@Suite(.overSockets)
struct DemoTests {
    @Test func aReaderThatLeavesEndsTheDemo() async throws {
        let command = try CommandRun(["demo"], closesOutput: true)
        #expect(await command.status() == 0)
        #expect(command.errors.count == 1)  // the list of the demo's parts
    }
}
