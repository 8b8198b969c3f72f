import Basics
import Foundation
import Glibc
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// Downloads that continue, and downloads that start over.
@Suite(.overSockets)
struct DownloadVersionTests {
    private static let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }

    private static let params = DownloadNodesRequestParams(workspaceId: "0", nodes: ["/large"])

    private static func with(
        options change: (inout PydioClientOptions) -> Void = { _ in }, _ body: (PydioScene) async throws -> Void
    ) async throws {
        try await PydioScene.with(options: change) { scene in
            try scene.server.addFile("/large", content)
            try await scene.client.authorize()
            try await body(scene)
        }
    }

    private static func properties(size: Int, time: Int64) -> FakePydioAnswer {
        .text(#"{"size":\#(size),"mtime":\#(time),"mode":33188}"#, type: "application/json")
    }

    @Test func anotherVersionOfTheSameSizeIsNotMixedIn() async throws {
        try await Self.with { scene in
            scene.server.inject(.cut(after: 70_000), into: "download")
            let stats = Lock(0)
            scene.server.setGate { [server = scene.server] request in
                guard request.action == "stat" else { return nil }
                let number = stats.withLock { stats in
                    stats += 1
                    return stats
                }
                if number == 2 { try? server.addFile("/large", Array(repeating: 1, count: 300_000)) }
                return Self.properties(size: 300_000, time: number == 1 ? 5 : 6)
            }
            let file = try scene.file("large")
            try await scene.client.downloadNodes(Self.params, to: file)
            #expect(try Data(contentsOf: file) == Data(repeating: 1, count: 300_000))
            #expect(scene.server.count("download") > 1)
            #expect(scene.server.requests("download").allSatisfy { $0.field("Range") == nil })
        }
    }

    @Test func aFileThatIsShorterThanTheServerSaysIsTakenAsItComes() async throws {
        try await Self.with { scene in
            scene.server.setGate { $0.action == "stat" ? Self.properties(size: 400_000, time: 5) : nil }
            let file = try scene.file("large")
            try await scene.client.downloadNodes(Self.params, to: file, keepsPart: true)
            #expect(try Data(contentsOf: file) == Data(Self.content) && scene.server.count("download") == 1)
        }
    }

    @Test func aServerThatNeverHasThePartIsGivenUp() async throws {
        try await Self.with(options: { $0.downloadResumptions = 3 }) { scene in
            scene.server.setGate { request in
                if request.action == "stat" { return Self.properties(size: 300_000, time: 5) }
                return request.field("Range") == nil ? nil : .html("", status: 416)
            }
            scene.server.inject(.cut(after: 70_000), into: "download", times: nil)
            let error = await failure {
                try await scene.client.downloadNodes(Self.params, to: try scene.file("large"))
            }
            #expect(error?.code == .network && scene.server.count("download") == 4)
        }
    }

    @Test func aTimeThatIsNoneIsNoTime() async throws {
        try await Self.with { scene in
            scene.server.setGate { $0.action == "stat" ? Self.properties(size: 300_000, time: .max) : nil }
            #expect(try await scene.client.stat(workspaceId: "0", path: "/large")?.mTime == nil)
            let file = try scene.file("large")
            try await scene.client.downloadNodes(Self.params, to: file, keepsPart: true)
            #expect(try Data(contentsOf: file) == Data(Self.content))
        }
    }

    // MARK: Partial files for the next call

    @Test func filesOfOneNameHavePartsOfTheirOwn() async throws {
        try await Self.with(options: { $0.downloadResumptions = 0 }) { scene in
            try scene.server.addFile("/docs/large", Array(repeating: 3, count: 300_000))
            scene.server.setGate { $0.action == "stat" ? Self.properties(size: 300_000, time: 5) : nil }
            scene.server.inject(.cut(after: 70_000), into: "download")
            let file = try scene.file("target")
            _ = await failure { try await scene.client.downloadNodes(Self.params, to: file, keepsPart: true) }
            #expect(scene.files.count == 1)
            let other = DownloadNodesRequestParams(workspaceId: "0", nodes: ["/docs/large"])
            try await scene.client.downloadNodes(other, to: file, keepsPart: true)
            #expect(try Data(contentsOf: file) == Data(repeating: 3, count: 300_000) && scene.files.count == 2)
        }
    }

    @Test func aPartLeadsNowhere() async throws {
        try await Self.with(options: { $0.downloadResumptions = 0 }) { scene in
            scene.server.inject(.cut(after: 70_000), into: "download")
            let file = try scene.file("target")
            _ = await failure { try await scene.client.downloadNodes(Self.params, to: file, keepsPart: true) }
            let part = scene.folder.appending(path: try #require(scene.files.first)).path
            let mine = try scene.file("mine", Array("mine".utf8))
            unlink(part)
            symlink(mine.path, part)
            try await scene.client.downloadNodes(Self.params, to: file, keepsPart: true)
            #expect(try Data(contentsOf: mine) == Data("mine".utf8))
            #expect(try Data(contentsOf: file) == Data(Self.content))
        }
    }

    @Test func twoDownloadsOfOneFileDoNotWriteIntoOnePart() async throws {
        try await Self.with { scene in
            let (first, second) = (try scene.file("first"), try scene.file("second"))
            scene.server.inject(.hold, into: "download", times: 2)
            async let one: Void = scene.client.downloadNodes(Self.params, to: first, keepsPart: true)
            async let two: Void = scene.client.downloadNodes(Self.params, to: second, keepsPart: true)
            #expect(await eventually { scene.server.heldCount == 2 })
            scene.server.release()
            _ = try await (one, two)
            #expect(try Data(contentsOf: first) == Data(Self.content))
            #expect(try Data(contentsOf: second) == Data(Self.content))
            #expect(scene.files == ["first", "second"])
        }
    }

    @Test func aLoginThatIsNeededMeanwhileKeepsThePart() async throws {
        try await Self.with { scene in
            scene.server.inject(.cut(after: 70_000), into: "download")
            scene.server.inject(.requireAuth, into: "stat", times: nil, after: 1)
            let file = try scene.file("target")
            let error = await failure {
                try await scene.client.downloadNodes(Self.params, to: file, keepsPart: true)
            }
            #expect(error?.code == .requireAuthorization && scene.files.count == 1)
        }
    }
}
