import Foundation
import TestSupport
import Testing

/// `make -C Lab matrix-kill` runs this two hundred times.
struct KillTests {
    /// Located next to the test bundle.
    static let program: String = {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let folder =
            bundle?.deletingLastPathComponent()
            ?? URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        return folder.appending(path: "MatrixKill").path
    }()

    private func run(_ arguments: String...) async throws -> (status: Int32, output: String) {
        let outcome = try await ChildProcess.run(Self.program, arguments)
        return (outcome.status, outcome.text + outcome.errors)
    }

    @Test func nothingIsLostOrDoubledWhenTheWriterIsKilled() async throws {
        let (status, output) = try await run("20")
        #expect(status == 0, "\(output)")
        #expect(output.contains("nothing lost or doubled"))
    }

    /// A file that may not grow simulates a full disk.
    @Test func aFullDiskIsAnErrorThatLeavesTheStoreAsItWas() async throws {
        let folder = try TemporaryFolder()
        let (status, output) = try await run("fill", folder.url.path, "400000")
        #expect(status == 0, "\(output)")
        #expect(output.contains("Could not write to the store of @kill:example.org"))
        #expect(output.contains("the store is as it was"))
    }
}
