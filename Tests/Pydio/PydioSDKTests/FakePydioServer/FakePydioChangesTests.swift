import PydioTestSupport
import Testing

/// Section 10 of the protocol's notes.
@Suite struct FakePydioChangesTests {
    private func client(_ mode: FakePydioMode = .v5_2) async throws -> RawClient {
        try await RawClient.start(.start(.init(mode: mode)))
    }

    /// The type, source and target of each row.
    private func rows(_ answer: RawClient.Answer) throws -> [[String]] {
        let document = try #require(answer.json as? [String: Any])
        let changes = try #require(document["changes"] as? [[String: Any]])
        return changes.map { change in ["type", "source", "target"].map { change[$0] as? String ?? "?" } }
    }

    private func lastSeq(_ answer: RawClient.Answer) -> Int? { (answer.json as? [String: Any])?["last_seq"] as? Int }

    @Test func aRowSaysWhatHappenedAndWhatTheNodeIsNow() async throws {
        let client = try await client()
        client.server.act("mkfile", ["dir": "/", "filename": "n.txt", "content": "hello"], as: "ada")
        let answer = try await client.get("changes", ["seq_id": "0"])
        #expect(answer.type.hasPrefix("application/json"))
        let document = try #require(answer.json as? [String: Any])
        let change = try #require((document["changes"] as? [[String: Any]])?.first)
        #expect(change["seq"] as? String == "1" && change["type"] as? String == "create")
        #expect(change["source"] as? String == "NULL" && change["target"] as? String == "/n.txt")
        let node = try #require(change["node"] as? [String: Any])
        #expect(node["bytesize"] as? String == "5" && node["node_path"] as? String == "/n.txt")
        #expect(node["md5"] as? String == "5d41402abc4b2a76b9719d911017c592")
        #expect(node["repository_identifier"] as? String == "0" && lastSeq(answer) == 1)
        client.server.configure { $0.changesHaveStrings = false }
        #expect(try await client.get("changes", ["seq_id": "0"]).text.hasPrefix(#"{"changes":[{"seq":1,"node_id":"#))
    }

    @Test func olderServersTellTheNetEffectAndNewerOnesIfTheyAreAsked() async throws {
        for mode in FakePydioMode.allCases {
            let client = try await client(mode)
            let server = client.server
            server.act("mkfile", ["dir": "/", "filename": "a"], as: "ada")
            server.act("mkfile", ["dir": "/", "filename": "gone"], as: "ada")
            server.act("rename", ["file": "/a", "filename_new": "b"], as: "ada")
            server.act("put_content", ["file": "/b", "content": "x"], as: "ada")
            server.act("delete", ["file": "/gone"], as: "ada")
            let all = try await client.get("changes", ["seq_id": "0"])
            let flat = try await client.get("changes", ["seq_id": "0", "flatten": "true"])
            #expect(try rows(flat) == [["create", "NULL", "/b"]])
            let everything = [
                ["create", "NULL", "/a"], ["path", "/a", "/b"], ["content", "/b", "/b"], ["create", "NULL", "/gone"],
                ["delete", "/gone", "NULL"],
            ]
            #expect(try rows(all) == (mode == .v8 ? everything : [["create", "NULL", "/b"]]))
            #expect(lastSeq(all) == 5)
            #expect(try await client.get("changes", ["seq_id": "5"]).text == #"{"changes":[],"last_seq":5}"#)
        }
    }

    @Test func whatIsInsideAFolderHasRowsOfItsOwn() async throws {
        let client = try await client(.v8)
        client.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        client.server.act("mkfile", ["dir": "/a", "filename": "b"], as: "ada")
        client.server.act("rename", ["file": "/a", "filename_new": "c"], as: "ada")
        client.server.act("delete", ["file": "/c"], as: "ada")
        let answer = try await client.get("changes", ["seq_id": "2"])
        #expect(
            try rows(answer) == [
                ["path", "/a", "/c"], ["delete", "/c", "NULL"], ["path", "/a/b", "/c/b"], ["delete", "/c/b", "NULL"],
            ])
        #expect(answer.text.contains(#""node":{"bytesize":null,"md5":null,"mtime":null,"node_path":null,"#))
        client.server.act("restore", ["file": "/recycle_bin/c", "dir": "/recycle_bin"], as: "ada")
        let restored = try await client.get("changes", ["seq_id": "6"])
        #expect(try rows(restored) == [["create", "NULL", "/c"], ["create", "NULL", "/c/b"]])
    }

    @Test func aFilterShowsAFolderAsTheRoot() async throws {
        let client = try await client(.v8)
        let server = client.server
        server.addFolder("/sub")
        server.act("mkfile", ["dir": "/sub", "filename": "in"], as: "ada")
        server.act("mkfile", ["dir": "/", "filename": "out"], as: "ada")
        server.act("move", ["file": "/out", "dest": "/sub"], as: "ada")
        server.act("move", ["file": "/sub/in", "dest": "/"], as: "ada")
        let answer = try await client.get("changes", ["seq_id": "0", "filter": "/sub"])
        #expect(
            try rows(answer) == [["create", "NULL", "/in"], ["delete", "/in", "NULL"], ["create", "NULL", "/out"]])
        #expect(answer.text.contains(#""node_path":false"#) && lastSeq(answer) == 4)
    }

    @Test func aStreamHasARowALineAndTheLastNumberAtItsEnd() async throws {
        let client = try await client(.v8)
        client.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        client.server.act("mkdir", ["dir": "/", "dirname": "b"], as: "ada")
        let lines = try await client.get("changes", ["seq_id": "0", "stream": "true"]).text.split(separator: "\n")
        #expect(lines.count == 3 && lines.last == "LAST_SEQ:2")
        #expect(lines.dropLast().allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
    }

    @Test func aServerThatBeganAnewSaysSo() async throws {
        let client = try await client(.v8)
        for name in ["a", "b", "c"] { client.server.act("mkdir", ["dir": "/", "dirname": name], as: "ada") }
        client.server.resetChanges()
        #expect(try await client.get("changes", ["seq_id": "3"]).text == #"{"changes":[],"last_seq":1}"#)
    }

    @Test func withoutTheFeedThereIsNothing() async throws {
        let client = try await client()
        client.server.configure { $0.hasChanges = false }
        let answer = try await client.get("changes", ["seq_id": "0"])
        #expect(answer.text.isEmpty && answer.type.hasPrefix("text/html"))
    }
}
