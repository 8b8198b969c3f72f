import PydioTestSupport
import Testing

/// Plugins' answers, with the faults of real servers.
@Suite struct FakePydioPluginTests {
    private func client(
        _ mode: FakePydioMode = .v5_2, without plugins: Set<FakePydioPlugin> = []
    ) async throws -> RawClient {
        var configuration = FakePydioServer.Configuration(mode: mode)
        configuration.plugins.subtract(plugins)
        let client = try await RawClient.start(.start(configuration))
        try client.server.addFile("/a.txt", Array("a".utf8))
        return client
    }

    @Test(arguments: FakePydioMode.allCases)
    func whatIsOffIsAnsweredWithNothing_andNotListed(mode: FakePydioMode) async throws {
        let client = try await client(mode, without: Set(FakePydioPlugin.allCases))
        for action in ["search", "stat_hash", "cross_copy", "compress", "chmod", "purge", "edit_user_meta", "sl_lock"] {
            let answer = try await client.post(action, ["file": "/a.txt"])
            #expect(answer.status == 200 && answer.text == "" && answer.type.hasPrefix("text/html"))
        }
        let registry = try await client.get("get_xml_registry", ["xPath": "actions"])
        #expect(registry.attributes("name").contains("ls") && !registry.attributes("name").contains("search"))
        #expect(
            try await client.get("get_xml_registry", ["xPath": "user/repositories"]).attributes(
                "allowCrossRepositoryCopy") == [])
    }

    @Test func copiesIntoAnotherWorkspaceReplaceWhatIsThere() async throws {
        let client = try await client()
        try client.server.addFile("/a.txt", Array("theirs".utf8), in: FakePydioWorkspace.teamID)
        let answer = try await client.post(
            "cross_copy", ["file": "/a.txt", "dest": "/", "dest_repository_id": FakePydioWorkspace.teamID])
        #expect(answer.xml.contains(#"<message type="SUCCESS">"#) && !answer.xml.contains("nodes_diff"))
        #expect(client.server.contents(of: "/a.txt", in: FakePydioWorkspace.teamID) == Array("a".utf8))
        let unknown = try await client.post("cross_copy", ["file": "/a.txt", "dest": "/", "dest_repository_id": "no"])
        #expect(unknown.xml.contains("ERROR"))
    }

    @Test func archivesReplaceWhatIsThere_andCanBeLookedInto() async throws {
        let client = try await client()
        try client.server.addFile("/a.zip", Array("theirs".utf8))
        _ = try await client.post("compress", ["file": "/a.txt", "archive_name": "a.zip", "dir": "/"])
        #expect(client.server.contents(of: "/a.zip", upTo: 2) == Array("PK".utf8))
        #expect(try await client.get("ls", ["dir": "/a.zip"]).attributes("filename") == ["/a.zip", "/a.zip/a.txt"])
        client.server.addFolder("/d")
        _ = try await client.post("copy", ["nodes[]": "/a.zip/a.txt", "dest": "/d"])
        #expect(client.server.contents(of: "/d/a.txt") == Array("a".utf8))
    }

    @Test(arguments: FakePydioMode.allCases)
    func aLockIsWhoeverTakesIt(mode: FakePydioMode) async throws {
        let client = try await client(mode)
        client.server.configure { $0.users[1].rights = nil }
        client.server.act("sl_lock", ["file": "/a.txt"], as: "bob")
        let locked = try await client.get("ls", ["options": "al", "file": "a.txt"])
        #expect(locked.attributes("sl_locked") == ["true"] && locked.attributes("sl_mylock") == [])
        #expect(locked.attributes("text").last == (mode == .v8 ? "a.txt (locked by bob)" : "a.txt"))
        let answer = try await client.post("sl_lock", ["file": "/a.txt"])
        #expect(answer.xml.contains(mode == .v8 ? "<nodes_diff><update>" : "<reload_instruction"))
        #expect(try await client.get("ls", ["options": "al"]).attributes("sl_mylock") == ["true"])
    }

    @Test func stoppingWhatIsNotWatchedBeginsSomethingElse() async throws {
        let client = try await client()
        let answer = try await client.post("toggle_watch", ["file": "/a.txt", "watch_action": "watch_stop"])
        #expect(answer.attributes("meta_watched") == [""])
    }

    /// Newer servers do this in listings only.
    @Test(arguments: FakePydioMode.allCases)
    func foldersAreCutAtThePagesMark(mode: FakePydioMode) async throws {
        let client = try await client(mode)
        client.server.addFolder("/d")
        client.server.addFolder("/d%232")
        #expect(try await client.get("ls", ["dir": "/d%232"]).attributes("filename").first == "/d")
        _ = try await client.post("mkdir", ["dir": "/d%232", "dirname": "x"])
        #expect(client.server.exists(mode == .v5_2 ? "/d/x" : "/d%232/x"))
    }

    @Test(arguments: FakePydioMode.allCases)
    func theFeedIsAPageUnlessAskedFor_andNothingWhereOldServersHaveNothing(mode: FakePydioMode) async throws {
        let client = try await client(mode)
        #expect(try await client.get("get_my_feed").type.hasPrefix("text/html"))
        let none = try await client.get("get_my_feed", ["format": "xml"])
        #expect(mode == .v5_2 ? none.text == "" : none.xml == "<tree ></tree>")
        _ = try await client.post("mkdir", ["dir": "/", "dirname": "x"])
        let some = try await client.get("get_my_feed", ["format": "xml"])
        #expect(some.attribute("filename") == (mode == .v8 ? "/notification_1" : "/x"))
    }
}
