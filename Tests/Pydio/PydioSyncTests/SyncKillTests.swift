import Foundation
import TestSupport
import Testing

/// `make -C Lab pydio-sync-kill` runs this two hundred times.
struct SyncKillTests {
    /// Located next to the test bundle.
    private static let program: String = {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let folder =
            bundle?.deletingLastPathComponent()
            ?? URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        return folder.appending(path: "PydioKill").path
    }()

    @Test func nothingIsLostOrDoubledWhenASyncIsKilled() async throws {
        let outcome = try await ChildProcess.run(Self.program, ["10"])
        #expect(outcome.status == 0, "\(outcome.text)\(outcome.errors)")
        #expect(outcome.text.contains("nothing lost or doubled"))
    }
}
