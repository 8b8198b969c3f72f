import Basics
import Foundation
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing
import Transport

/// The file that an upload in parts replaces.
@Suite(.overSockets)
struct UploadReplacementTests {
    private static let content = (0..<2500).map { UInt8(truncatingIfNeeded: $0 / 3) }

    private static func params(_ name: String) -> UploadNodesRequestParams {
        UploadNodesRequestParams(workspaceId: "0", dir: "/", fileName: name)
    }

    private static func with(_ body: (PydioScene, URL) async throws -> Void) async throws {
        try await PydioScene.with(options: { $0.uploadPartSize = 1000 }) { scene in
            try await body(scene, try scene.file("up", content))
        }
    }

    private static func leftovers(_ scene: PydioScene) -> [String] {
        scene.server.paths().filter { path in
            !path.hasPrefix("/recycle_bin") && [".upload", ".part", ".old"].contains { path.hasSuffix($0) }
        }
    }

    /// Either renaming: the former file's, and the upload's.
    @Test(arguments: [0, 1])
    func aNameThatCannotBeGivenLeavesTheFormerFile(skipped: Int) async throws {
        try await Self.with { scene, file in
            scene.server.inject(.errorDocument("No"), into: "rename", after: skipped)
            let error = await failure { try await scene.client.uploadNodes(Self.params("a.txt"), file: file) }
            #expect(error?.code == .errorResponse)
            #expect(scene.server.contents(of: "/a.txt") == Array("hello".utf8))
            #expect(Self.leftovers(scene).isEmpty)
        }
    }

    @Test func oneThatIsCancelledAtItsEndLeavesAFile() async throws {
        try await Self.with { scene, file in
            scene.server.inject(.silence, into: "rename", after: 1)
            let task = Task { try await scene.client.uploadNodes(Self.params("a.txt"), file: file) }
            #expect(await eventually { scene.server.count("rename") == 2 })
            task.cancel()
            await #expect(throws: PydioError.self) { try await task.value }
            #expect(scene.server.contents(of: "/a.txt") == Array("hello".utf8))
            #expect(Self.leftovers(scene).isEmpty)
        }
    }

    @Test func aFolderIsNotReplaced_andNothingIsSentInVain() async throws {
        try await Self.with { scene, file in
            let error = await failure { try await scene.client.uploadNodes(Self.params("docs"), file: file) }
            #expect(error?.code == .file && scene.server.count("upload") == 0)
            #expect(scene.server.contents(of: "/docs/b.txt") == Array("world".utf8))
        }
    }

    @Test func aFirstPartWhoseAnswerIsLostIsRemoved() async throws {
        try await Self.with { scene, file in
            scene.server.inject(.contentType("text/html"), into: "upload")
            let error = await failure { try await scene.client.uploadNodes(Self.params("new"), file: file) }
            #expect(error?.code == .receivedNotExpectedAnswer)
            #expect(Self.leftovers(scene).isEmpty)
            #expect(scene.server.requests("delete").count == 2)  // the whole file, and the part beside it
        }
    }

    @Test func whatMustNotBeReplacedIsNot() async throws {
        try await Self.with { scene, file in
            var params = Self.params("a.txt")
            params.replaces = false
            let inParts = await failure { try await scene.client.uploadNodes(params, file: file) }
            let atOnce = await failure { try await scene.client.uploadNodes(params, data: Data("x".utf8)) }
            #expect(inParts?.code == .file && atOnce?.code == .file && scene.server.count("upload") == 0)
            params.fileName = "new"
            try await scene.client.uploadNodes(params, file: file)
            #expect(scene.server.contents(of: "/new") == Self.content)
        }
    }

    @Test func oneThatHasComeMeanwhileIsNotReplacedEither() async throws {
        try await Self.with { scene, file in
            var params = Self.params("new")
            params.replaces = false
            scene.server.setGate { [server = scene.server] request in
                if request.action == "upload" { try? server.addFile("/new", Array("other".utf8)) }
                return nil
            }
            let error = await failure { try await scene.client.uploadNodes(params, file: file) }
            #expect(error?.code == .file && scene.server.contents(of: "/new") == Array("other".utf8))
            #expect(Self.leftovers(scene).isEmpty)
        }
    }
}
