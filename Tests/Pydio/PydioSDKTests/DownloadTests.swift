import Basics
import Foundation
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing
import Transport

@Suite(.overSockets)
struct DownloadTests {
    private static let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }

    private static func params(_ nodes: String...) -> DownloadNodesRequestParams {
        DownloadNodesRequestParams(workspaceId: "0", nodes: nodes)
    }

    private static func with(
        _ mode: FakePydioMode = .v5_2, options change: (inout PydioClientOptions) -> Void = { _ in },
        _ body: (PydioScene) async throws -> Void
    ) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode), options: change) { scene in
            try scene.server.addFile("/large", content)
            try await scene.client.authorize()
            try await body(scene)
        }
    }

    private static let modes: [FakePydioMode] = [.v5_2, .v8]

    @Test(arguments: modes)
    func aBrokenDownloadGoesOnWhereItWas(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            let file = try scene.file("large")
            scene.server.inject(.cut(after: 70_000), into: "download", times: 3)
            let steps = Lock<[PydioTransferProgress]>([])
            try await scene.client.downloadNodes(Self.params("/large"), to: file) { step in
                steps.withLock { $0.append(step) }
            }
            #expect(try Data(contentsOf: file) == Data(Self.content) && scene.files == ["large"])
            let ranges = scene.server.requests("download").map { $0.field("Range") }
            #expect(ranges.count == 4 && ranges.first == .some(nil))
            #expect(ranges.dropFirst().allSatisfy { $0?.hasPrefix("bytes=") == true && $0?.hasSuffix("-") == true })
            let seen = steps.withLock { $0 }
            #expect(seen.last == seen.max { $0.completed < $1.completed })
            #expect(seen.last?.completed == 300_000 && seen.allSatisfy { $0.total == 300_000 })
        }
    }

    @Test func anArchiveBeginsAnew() async throws {
        try await Self.with { scene in
            scene.server.inject(.cut(after: 40), into: "download")
            let file = try await scene.client.downloadNodes(
                Self.params("/docs", "/a.txt"), intoFolder: scene.folder)
            #expect(file.lastPathComponent == "Files.zip" && scene.files == ["Files.zip"])
            #expect(scene.server.count("download") > 1)
            #expect(scene.server.requests("download").allSatisfy { $0.field("Range") == nil })
            #expect(try Data(contentsOf: file).suffix(22).starts(with: [0x50, 0x4B, 5, 6]))
        }
    }

    @Test func aFileThatHasChangedMeanwhileBeginsAnew() async throws {
        try await Self.with { scene in
            let file = try scene.file("large")
            scene.server.inject(.cut(after: 70_000), into: "download")
            scene.server.setGate { [server = scene.server] request in
                guard request.action == "stat", server.count("download") == 1 else { return nil }
                try? server.addFile("/large", Array(repeating: 1, count: 100_000))
                return nil
            }
            try await scene.client.downloadNodes(Self.params("/large"), to: file)
            #expect(try Data(contentsOf: file) == Data(repeating: 1, count: 100_000))
        }
    }

    @Test func aServerThatSendsNothingMoreIsGivenUp() async throws {
        try await Self.with(options: { $0.downloadResumptions = 3 }) { scene in
            scene.server.inject(.cut(after: 70_000), into: "download", times: nil)
            let file = try scene.file("large")
            let error = await failure {
                try await scene.client.downloadNodes(Self.params("/large"), to: file)
            }
            #expect(error?.code == .network && scene.server.count("download") == 4)
            #expect(scene.files.isEmpty)
        }
    }

    // MARK: Partial files for the next call

    @Test func aPartIsKeptForTheNextCall() async throws {
        try await Self.with(options: { $0.downloadResumptions = 0 }) { scene in
            let file = try scene.file("large")
            scene.server.inject(.cut(after: 70_000), into: "download")
            let error = await failure {
                try await scene.client.downloadNodes(Self.params("/large"), to: file, keepsPart: true)
            }
            #expect(error?.code == .network && scene.files.count == 1 && scene.files[0].hasPrefix(".large."))
            try await scene.client.downloadNodes(Self.params("/large"), to: file, keepsPart: true)
            #expect(try Data(contentsOf: file) == Data(Self.content) && scene.files == ["large"])
            #expect(scene.server.requests("download").last?.field("Range")?.hasPrefix("bytes=") == true)
        }
    }

    @Test func aPartOfAnotherVersionIsNotGoneOnWith() async throws {
        try await Self.with(options: { $0.downloadResumptions = 0 }) { scene in
            let file = try scene.file("large")
            scene.server.inject(.cut(after: 70_000), into: "download")
            _ = await failure {
                try await scene.client.downloadNodes(Self.params("/large"), to: file, keepsPart: true)
            }
            try scene.server.addFile("/large", Array(repeating: 2, count: 100_000))
            try await scene.client.downloadNodes(Self.params("/large"), to: file, keepsPart: true)
            #expect(try Data(contentsOf: file) == Data(repeating: 2, count: 100_000))
        }
    }

    // MARK: Answers that are not downloads

    @Test(
        arguments: [
            (.errorDocument("No"), .errorResponse), (.htmlPage(), .notAZipFileResponse),
            (.scriptError, .errorResponse), (.emptyBody, .notAZipFileResponse), (.garbage, .unableToParseAnswer),
            (.htmlPage(503), .http(status: 503)),
        ] as [(FakePydioServer.Fault, PydioError.Code)])
    func errorsDoNotBecomeFiles(fault: FakePydioServer.Fault, code: PydioError.Code) async throws {
        try await Self.with { scene in
            let file = try scene.file("kept", Array("kept".utf8))
            scene.server.inject(fault, into: "download", times: nil)
            let toFile = await failure { try await scene.client.downloadNodes(Self.params("/large"), to: file) }
            let toMemory = await failure { _ = try await scene.client.downloadNodes(Self.params("/large")) }
            #expect(toFile?.code == code && toMemory?.code == code)
            #expect(scene.files == ["kept"] && (try? Data(contentsOf: file)) == Data("kept".utf8))
        }
    }

    @Test func documentsCanBeDownloaded() async throws {
        try await Self.with { scene in
            let document = Array(#"<tree><message type="ERROR">x</message></tree>"#.utf8)
            try scene.server.addFile("/error.xml", document)
            #expect(try await scene.client.downloadNodes(Self.params("/error.xml")) == Data(document))
            let file = try scene.file("error.xml")
            try await scene.client.downloadNodes(Self.params("/error.xml"), to: file)
            #expect(try Data(contentsOf: file) == Data(document))
        }
    }

    @Test func anEmptyFileIsAFile() async throws {
        try await Self.with { scene in
            try scene.server.addFile("/empty")
            let file = try scene.file("empty")
            try await scene.client.downloadNodes(Self.params("/empty"), to: file)
            #expect(try Data(contentsOf: file).isEmpty)
        }
    }

    @Test func sizesAreBounded() async throws {
        try await Self.with(options: { ($0.maximumDownloadSize, $0.maximumResponseSize) = (299_999, 100_000) }) {
            scene in
            let file = try scene.file("large")
            let toFile = await failure { try await scene.client.downloadNodes(Self.params("/large"), to: file) }
            let toMemory = await failure { _ = try await scene.client.downloadNodes(Self.params("/large")) }
            #expect(toFile?.code == .tooLarge && toMemory?.code == .tooLarge && scene.files.isEmpty)
        }
    }

    // MARK: Names

    /// The server's name for the file and its local name.
    @Test(
        arguments: [
            ("..", "download"), ("../../etc/passwd", "passwd"), ("/etc/passwd", "passwd"), ("..\\..\\a.txt", "a.txt"),
            ("a\u{1}b", "ab"), (".bashrc", "bashrc"), ("", "download"),
            ("plan é 🙂 100% & + 'x'.txt", "plan é 🙂 100% & + 'x'.txt"),
        ] as [(String, String)])
    func aDownloadNeverLeavesItsFolder(name: String, expected: String) async throws {
        try await Self.with { scene in
            let folder = scene.folder.appending(path: "in")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let server = SocketServer { peer in
                _ = peer.readHead()
                peer.write(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/force-download\r\nContent-Length: 1\r\n"
                        + "Content-Disposition: attachment; filename=\"\(name.replacing("\\", with: "\\\\"))\"\r\n"
                        + "Connection: close\r\n\r\nx")
            }
            let url = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
            scene.params.setUser(User(userid: "ada", password: "x"), forServer: url)
            let client = PydioClient(server: url, params: scene.params, options: scene.client.options)
            let file = try await client.downloadNodes(Self.params("/", "/x"), intoFolder: folder)
            #expect(file.lastPathComponent == expected)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [expected])
            #expect(scene.files == ["in"])
        }
    }

    @Test func noFileIsReplacedInAFolder() async throws {
        try await Self.with { scene in
            _ = try scene.file("a.txt", Array("mine".utf8))
            let file = try await scene.client.downloadNodes(Self.params("/a.txt"), intoFolder: scene.folder)
            #expect(file.lastPathComponent == "a 1.txt" && scene.files == ["a 1.txt", "a.txt"])
        }
    }

    @Test func aCancelledDownloadLeavesNothing() async throws {
        try await Self.with { scene in
            scene.server.inject(.hold, into: "download")
            let file = try scene.file("large")
            let task = Task { try await scene.client.downloadNodes(Self.params("/large"), to: file) }
            #expect(await eventually { scene.server.heldCount == 1 })
            task.cancel()
            await #expect { try await task.value } throws: { ($0 as? PydioError)?.code == .cancelled }
            #expect(scene.files.isEmpty)
        }
    }
}
