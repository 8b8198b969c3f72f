import Foundation
import TestSupport
import Testing

/// What `make -C Lab matrix-kill` does two hundred times.
struct KillTests {
    /// It stands where the test bundle does.
    static let program: String = {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let folder =
            bundle?.deletingLastPathComponent()
            ?? URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        return folder.appending(path: "MatrixKill").path
    }()

    private func run(_ arguments: String...) throws -> (status: Int32, output: String) {
        let pipe = Pipe()
        let process = try ChildProcess(
            Self.program, arguments, output: pipe.fileHandleForWriting, errors: pipe.fileHandleForWriting)
        try pipe.fileHandleForWriting.close()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        return (process.wait(), String(decoding: output, as: UTF8.self))
    }

    @Test func nothingIsLostOrDoubledWhenTheWriterIsKilled() throws {
        let (status, output) = try run("20")
        #expect(status == 0, "\(output)")
        #expect(output.contains("nothing lost or doubled"))
    }

    /// A file that may not grow stands for a full disk.
    @Test func aFullDiskIsAnErrorThatLeavesTheStoreAsItWas() throws {
        let folder = try TemporaryFolder()
        let (status, output) = try run("fill", folder.url.path, "400000")
        #expect(status == 0, "\(output)")
        #expect(output.contains("Could not write to the store of @kill:example.org"))
        #expect(output.contains("the store is as it was"))
    }
}
