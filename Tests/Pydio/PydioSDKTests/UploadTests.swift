import Basics
import Foundation
import Glibc
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct UploadTests {
    private static func params(_ name: String, dir: String = "/") -> UploadNodesRequestParams {
        UploadNodesRequestParams(workspaceId: "0", dir: dir, fileName: name)
    }

    private static let names = [
        "with spaces.txt", "'quotes'.txt", "100%.txt", "50%25.txt", "a&b=c.txt", "a+b.txt", "🙂 é ü.txt",
        "a..b", "semi;colon,comma", "#hash%231", "[]{}<>^`~", "-n", "ends with dot.", "a & b.txt", "&amp;.txt",
    ]

    /// Upload and download, with both kinds of authorization.
    @Test(arguments: names, [FakePydioMode.v5_2, .v8])
    func namesSurviveAllOperations(name: String, mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let client = scene.client
            // In a folder's path the server takes this for a page number.
            let folder = "folder " + name.replacing("%23", with: "")
            try await client.mkdir(MkDirRequestParams(workspaceId: "0", dir: "/", dirname: folder))
            try await client.uploadNodes(Self.params(name, dir: "/" + folder), data: Data(name.utf8))
            let path = "/\(folder)/\(name)"
            #expect(scene.server.contents(of: path) == Array(name.utf8))
            let listed = try await client.listNodes(ListNodesRequestParams(workspaceId: "0", path: "/" + folder))
            #expect(listed.first?.children?.map(\.path) == [path] && listed.first?.children?.first?.name == name)
            #expect(try await client.stat(workspaceId: "0", path: path)?.size == Int64(name.utf8.count))
            #expect(try await client.getContent(workspaceId: "0", path: path) == Data(name.utf8))
            let down = DownloadNodesRequestParams(workspaceId: "0", nodes: [path])
            #expect(try await client.downloadNodes(down) == Data(name.utf8))
            try await client.copy(workspaceId: "0", nodes: [path], destination: "/docs")
            try await client.rename(workspaceId: "0", path: "/docs/" + name, newName: "x" + name)
            #expect(scene.server.exists("/docs/x" + name))
            try await client.deleteNodes(DeleteNodesRequestParams(workspaceId: "0", nodes: [path]))
            #expect(!scene.server.exists(path))
        }
    }

    @Test(arguments: ["", ".", "..", "a/b", "/", "../x"])
    func namesThatAreNoneAreNotSent(name: String) async throws {
        try await PydioScene.with { scene in
            let error = await failure {
                try await scene.client.uploadNodes(Self.params(name), data: Data("x".utf8))
            }
            #expect(error?.code == .invalidArgument && scene.server.count("upload") == 0)
            if name != "" && name != "." {
                let renamed = await failure {
                    try await scene.client.rename(workspaceId: "0", path: "/a.txt", newName: name)
                }
                #expect(renamed?.code == .invalidArgument && scene.server.count("rename") == 0)
            }
        }
    }

    @Test func progressIsTold() async throws {
        try await PydioScene.with { scene in
            let file = try scene.file("up", [UInt8](repeating: 1, count: 3_000_000))
            let steps = Lock<[PydioTransferProgress]>([])
            try await scene.client.uploadNodes(Self.params("up"), file: file) { step in
                steps.withLock { $0.append(step) }
            }
            let seen = steps.withLock { $0 }
            #expect(seen.last?.completed == 3_000_000 && seen.allSatisfy { $0.total == 3_000_000 && $0.completed >= 0 })
            #expect(seen.map(\.completed) == seen.map(\.completed).sorted())
        }
    }

    /// A concurrent queue runs blocks in parallel.
    @Test func theEndWaitsForTheProgress_alsoOnAConcurrentQueue() async throws {
        try await PydioScene.with(options: { $0.completionQueue = .global() }) { scene in
            let file = try scene.file("up", [1, 2, 3])
            let (ended, ends, overtaken) = (DispatchSemaphore(value: 0), Lock(0), Lock(false))
            let end: @Sendable () -> Void = {
                ends.withLock { $0 += 1 }
                ended.signal()
            }
            scene.client.uploadNodes(
                Self.params("up"), file: file,
                progress: { _ in
                    if ended.wait(timeout: .now() + .milliseconds(300)) == .success { overtaken.withLock { $0 = true } }
                }, success: { _ in end() }, failure: { _ in end() })
            #expect(await eventually { ends.withLock { $0 } == 1 })
            #expect(!overtaken.withLock { $0 })
        }
    }

    @Test func textsOfRefusalAreErrors() async throws {
        let workspace = FakePydioWorkspace(id: "0", slug: "plans", label: "Plans", quota: 100)
        try await PydioScene.with(FakePydioServer.Configuration(workspaces: [workspace])) { scene in
            let tooMuch = await failure {
                try await scene.client.uploadNodes(Self.params("b"), data: Data(count: 200))
            }
            #expect(tooMuch?.code == .errorResponse && tooMuch?.serverMessage?.hasSuffix("(507)") == true)
            let nowhere = await failure {
                try await scene.client.uploadNodes(Self.params("b", dir: "/none"), data: Data(count: 1))
            }
            #expect(nowhere?.code == .errorResponse && nowhere?.serverMessage?.hasSuffix("(412)") == true)
        }
    }

    @Test func bothAreKeptIfAskedFor() async throws {
        try await PydioScene.with { scene in
            var params = Self.params("a.txt")
            params.keepsBoth = true
            try await scene.client.uploadNodes(params, data: Data("second".utf8))
            #expect(scene.server.contents(of: "/a.txt") == Array("hello".utf8))
            #expect(scene.server.paths().filter { $0.hasPrefix("/a") }.count == 2)
        }
    }

    @Test func largeFilesNeedLittleMemory() async {
        await #expect(processExitsWith: .success) {
            let size = 160 << 20
            var configuration = FakePydioServer.Configuration()
            (configuration.uploadLimit, configuration.postLimit) = (nil, nil)
            try await PydioScene.with(configuration) { scene in
                let source = try scene.file("source")
                let handle = open(source.path, O_RDWR | O_CREAT, 0o600)
                ftruncate(handle, off_t(size))
                var one: UInt8 = 1
                pwrite(handle, &one, 1, off_t(size - 1))
                close(handle)
                let before = try peakMemory()
                try await scene.client.uploadNodes(UploadTests.params("large"), file: source)
                let target = try scene.file("target")
                let params = DownloadNodesRequestParams(workspaceId: "0", nodes: ["/large"])
                try await scene.client.downloadNodes(params, to: target)
                #expect(try peakMemory() - before < 32 << 20)
                #expect(scene.server.size(of: "/large") == size)
                let file = try FileHandle(forReadingFrom: target)
                try file.seek(toOffset: UInt64(size - 1))
                #expect(try file.readToEnd() == Data([1]))
            }
        }
    }

    // MARK: Parts

    private static let content = (0..<2500).map { UInt8(truncatingIfNeeded: $0 / 3) }

    @Test func partsReplaceAFileWhenAllIsThere() async throws {
        try await PydioScene.with(options: { $0.uploadPartSize = 1000 }) { scene in
            let file = try scene.file("up", Self.content)
            try await scene.client.uploadNodes(Self.params("a.txt"), file: file)
            #expect(scene.server.contents(of: "/a.txt") == Self.content)
            #expect(scene.server.requests("upload").map(\.uploadSize) == [1000, 1000, 500])
            // The former one is in the recycle bin.
            let former = scene.server.paths().first { $0.hasPrefix("/recycle_bin/a.txt.") && $0.hasSuffix(".old") }
            #expect(former.flatMap { scene.server.contents(of: $0) } == Array("hello".utf8))
        }
    }

    @Test func partsKeepBothIfAskedFor() async throws {
        try await PydioScene.with(options: { $0.uploadPartSize = 1000 }) { scene in
            let file = try scene.file("up", Self.content)
            var params = Self.params("a.txt")
            params.keepsBoth = true
            try await scene.client.uploadNodes(params, file: file)
            #expect(scene.server.contents(of: "/a.txt") == Array("hello".utf8))
            #expect(scene.server.contents(of: "/a-1.txt") == Self.content)
        }
    }

    @Test func aFailedPartLeavesTheFormerFile() async throws {
        try await PydioScene.with(options: { $0.uploadPartSize = 1000 }) { scene in
            let file = try scene.file("up", Self.content)
            scene.server.inject(.htmlPage(413), into: "upload", after: 2)
            let error = await failure { try await scene.client.uploadNodes(Self.params("a.txt"), file: file) }
            #expect(error?.code == .http(status: 413))
            #expect(scene.server.contents(of: "/a.txt") == Array("hello".utf8))
            #expect(!scene.server.paths().contains { $0.hasSuffix(".upload") && !$0.hasPrefix("/recycle_bin") })
        }
    }

    @Test func aSessionLostBetweenPartsIsNotNoticed() async throws {
        try await PydioScene.with(options: { $0.uploadPartSize = 1000 }) { scene in
            let file = try scene.file("up", Self.content)
            let isLost = Lock(false)
            scene.server.setGate { [server = scene.server] request in
                guard request.parameter("appendto_urlencoded_part") != nil else { return nil }
                let isFirst = isLost.withLock { lost in
                    defer { lost = true }
                    return !lost
                }
                if isFirst { server.expireSessions() }
                return nil
            }
            try await scene.client.uploadNodes(Self.params("new"), file: file)
            #expect(scene.server.contents(of: "/new") == Self.content && scene.server.count("login") == 2)
        }
    }

    @Test func aFileThatIsNoneIsAnError() async throws {
        try await PydioScene.with { scene in
            let error = await failure {
                try await scene.client.uploadNodes(Self.params("x"), file: scene.folder)
            }
            #expect(error?.code == .file && scene.server.requests.isEmpty)
        }
    }
}
