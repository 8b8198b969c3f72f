import Foundation
import PydioTestSupport
import Testing

/// A server that is killed and restarted with the same journal.
@Suite struct FakePydioJournalTests {
    private let file = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID().uuidString)").path

    private func client() async throws -> RawClient {
        var configuration = FakePydioServer.Configuration(mode: .v8)
        configuration.journal = file
        return try await RawClient.start(.start(configuration))
    }

    @Test func changesKeepTheirNumbers_andNodesTheirPlaces_whenTheServerStartsAgain() async throws {
        defer { try? FileManager.default.removeItem(atPath: file) }
        let first = try await client()
        first.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        first.server.act("mkfile", ["dir": "/a", "filename": "b", "content": "x"], as: "ada")
        first.server.act("mkfile", ["dir": "/", "filename": "gone"], as: "ada")
        first.server.act("put_content", ["file": "/a/b", "content": "y"], as: "ada")
        first.server.act("rename", ["file": "/a", "filename_new": "c"], as: "ada")
        first.server.act("delete", ["file": "/gone"], as: "ada")
        let before = try rows(try await first.get("changes", ["seq_id": "0"]))
        await first.server.stop()

        let second = try await client()
        #expect(try rows(try await second.get("changes", ["seq_id": "0"])) == before)
        #expect(second.server.exists("/c/b") && !second.server.exists("/a") && !second.server.exists("/gone"))
        second.server.act("mkdir", ["dir": "/", "dirname": "d"], as: "ada")
        #expect(try rows(try await second.get("changes", ["seq_id": "0"])) == before + ["8 create NULL /d"])
        await second.server.stop()
    }

    @Test func aLineThatWasCutOffCountsForNothing() async throws {
        defer { try? FileManager.default.removeItem(atPath: file) }
        let first = try await client()
        first.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        await first.server.stop()
        let whole = try #require(FileManager.default.contents(atPath: file))
        try (whole + whole.dropLast(9)).write(to: URL(filePath: file))

        let second = try await client()
        second.server.act("mkdir", ["dir": "/", "dirname": "b"], as: "ada")
        await second.server.stop()
        let third = try await client()
        #expect(
            try rows(try await third.get("changes", ["seq_id": "0"])) == ["1 create NULL /a", "2 create NULL /b"])
        await third.server.stop()
    }

    private func rows(_ answer: RawClient.Answer) throws -> [String] {
        let document = try #require(answer.json as? [String: Any])
        let changes = try #require(document["changes"] as? [[String: Any]])
        return changes.map { change in
            ["seq", "type", "source", "target"].map { change[$0] as? String ?? "?" }.joined(separator: " ")
        }.sorted()
    }
}
