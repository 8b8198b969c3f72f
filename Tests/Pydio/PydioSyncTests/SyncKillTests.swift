import Foundation
import TestSupport
import Testing

/// What `make -C Lab pydio-sync-kill` does two hundred times.
struct SyncKillTests {
    /// It stands where the test bundle does.
    private static let program: String = {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let folder =
            bundle?.deletingLastPathComponent()
            ?? URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        return folder.appending(path: "PydioKill").path
    }()

    @Test func nothingIsLostOrDoubledWhenASyncIsKilled() throws {
        let pipe = Pipe()
        let process = try ChildProcess(
            Self.program, ["10"], output: pipe.fileHandleForWriting, errors: pipe.fileHandleForWriting)
        try pipe.fileHandleForWriting.close()
        let output = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(process.wait() == 0, "\(output)")
        #expect(output.contains("nothing lost or doubled"))
    }
}
