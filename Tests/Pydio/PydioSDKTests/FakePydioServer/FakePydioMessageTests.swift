import PydioTestSupport
import Testing

/// Section 8 of the protocol's notes.
@Suite struct FakePydioMessageTests {
    private func client(_ mode: FakePydioMode = .v5_2) async throws -> RawClient {
        try await RawClient.start(.start(.init(mode: mode)))
    }

    private func consume(_ client: RawClient, as id: String = "me", in workspace: String = "0") async throws
        -> RawClient.Answer
    {
        try await client.get(
            "client_consume_channel",
            ["channel": "nodes:\(workspace)", "client_id": id, "tmp_repository_id": workspace])
    }

    @Test func aMailboxIsEmptiedByWhoAsks() async throws {
        let client = try await client()
        let registered = try await client.get("client_register_channel", ["channel": "nodes:0", "client_id": "me"])
        #expect(registered.text.isEmpty && registered.type.hasPrefix("text/html"))
        #expect(try await consume(client).text.isEmpty)
        client.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        client.server.act("mkdir", ["dir": "/", "dirname": "b"], as: "ada")
        let answer = try await consume(client)
        #expect(
            answer.xml.hasPrefix("<tree ><nodes_diff><add><tree ") && answer.attributes("filename") == ["/a", "/b"])
        #expect(try await consume(client).text.isEmpty)
        _ = try await client.get("client_unregister_channel", ["channel": "nodes:0", "client_id": "me"])
        #expect(client.server.pollers.isEmpty)
    }

    @Test func whatListenersAreToldIsNotTheAnswer() async throws {
        let client = try await client()
        try client.server.addFile("/a.txt")
        client.server.addFolder("/d")
        _ = try await consume(client)
        let answer = try await client.post("move", ["nodes[]": "/a.txt", "dest": "/d"])
        #expect(answer.text.contains("<remove>") && answer.text.contains("<add>"))
        let moved = try await consume(client)
        #expect(moved.xml.hasPrefix("<tree ><nodes_diff><update><tree "))
        #expect(moved.attribute("original_path") == "/a.txt" && moved.attribute("filename") == "/d/a.txt")
        _ = try await client.post("delete", ["nodes[]": "/d/a.txt"])
        let recycled = try await consume(client)
        #expect(recycled.attribute("filename") == "/recycle_bin/a.txt" && !recycled.text.contains("<remove>"))
        _ = try await client.post("delete", ["nodes[]": "/recycle_bin/a.txt", "dir": "/recycle_bin"])
        #expect(
            try await consume(client).xml
                == #"<tree ><nodes_diff><remove><tree filename="/recycle_bin/a.txt"/></remove></nodes_diff></tree>"#)
        _ = try await client.upload([1], ["dir": "/", "urlencoded_filename": "n"])
        _ = try await client.upload([1, 2], ["dir": "/", "urlencoded_filename": "n"])
        let uploads = try await consume(client)
        #expect(uploads.xml.contains("<add><tree ") && uploads.attribute("original_path") == "/n")
        _ = try await client.post("chmod", ["nodes[]": "/n", "chmod_value": "0644"])
        #expect(try await consume(client).text.isEmpty)
    }

    @Test func newcomersOfOlderServersGetWhatWaitsForOthers() async throws {
        for mode in FakePydioMode.allCases {
            let client = try await client(mode)
            _ = try await consume(client, as: "first")
            client.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
            #expect(try await consume(client, as: "second").attributes("filename") == (mode == .v5_2 ? ["/a"] : []))
            #expect(try await consume(client, as: "first").attributes("filename") == ["/a"])
        }
    }

    @Test func aMailboxThatNobodyAsksForIsDropped() async throws {
        let client = try await client(.v8)
        _ = try await consume(client, as: "lost")
        client.server.act("mkdir", ["dir": "/", "dirname": "a"], as: "ada")
        client.server.advanceClock(by: .seconds(601))
        #expect(client.server.pollers == ["lost"])
        _ = try await consume(client, as: "me")
        #expect(client.server.pollers == ["me"])
        #expect(try await consume(client, as: "lost").xml == "<tree ></tree>")
    }

    @Test func newerServersWantTheWorkspaceOfTheChannel() async throws {
        let client = try await client(.v8)
        let answer = try await client.get(
            "client_consume_channel", ["channel": "nodes:0", "client_id": "me", "tmp_repository_id": "1"])
        #expect(answer.xml == #"<tree ><require_registry_reload repositoryId="1"/></tree>"#)
    }

    @Test func newerServersTellTheWorkspaceAndTheTime() async throws {
        let client = try await client(.v8)
        _ = try await consume(client, in: FakePydioWorkspace.teamID)
        client.server.act("mkdir", ["dir": "/", "dirname": "a"], in: FakePydioWorkspace.teamID)
        client.server.act("delete", ["file": "/a"], in: FakePydioWorkspace.teamID)
        let answer = try await consume(client, in: FakePydioWorkspace.teamID)
        #expect(answer.attribute("node_repository_id") == FakePydioWorkspace.teamID)
        #expect(answer.attribute("ajxp_im_time").flatMap { Int($0) } ?? 0 > 1_700_000_000)
    }

    @Test func eachUsersOwnFilesAreToldToThatUser() async throws {
        let client = try await client()
        _ = try await consume(client, in: "1")
        client.server.act("mkdir", ["dir": "/", "dirname": "bobs"], in: "1", as: "bob")
        client.server.act("mkdir", ["dir": "/", "dirname": "adas"], in: "1", as: "ada")
        #expect(try await consume(client, in: "1").attributes("filename") == ["/adas"])
        _ = try await client.get(
            "get_bookmarks", ["bm_action": "add_bookmark", "bm_path": "/adas", "tmp_repository_id": "1"])
        #expect(try await consume(client, in: "1").xml == "<tree ><reload_bookmarks/></tree>")
    }

    @Test func someMessagesAreForAllWorkspaces() async throws {
        let client = try await client()
        for workspace in ["0", "1"] { _ = try await consume(client, in: workspace) }
        client.server.postToAll("<reload_instruction object=\"repository_list\"/>")
        for workspace in ["0", "1"] {
            #expect(
                try await consume(client, in: workspace).xml
                    == #"<tree ><reload_instruction object="repository_list"/></tree>"#)
        }
    }

    @Test func whoIsLoggedOutIsToldSo() async throws {
        let client = try await client()
        client.server.expireSessions()
        #expect(try await consume(client).xml == "<tree ><require_auth/></tree>")
    }

    @Test func theRegistryTellsHowToListen() async throws {
        let client = try await client()
        let path: KeyValuePairs = ["xPath": "plugins"]
        let polling = try await client.get("get_xml_registry", path).xml
        #expect(polling.contains(#"<property name="POLLER_FREQUENCY">15</property>"#))
        #expect(polling.contains(#"<property name="WS_SERVER_ACTIVE">false</property>"#))
        client.server.configure { ($0.hasWebSocket, $0.hasPolling) = (true, false) }
        let pushing = try await client.get("get_xml_registry", path).xml
        #expect(pushing.contains(#"<property name="WS_SERVER_HOST">&quot;127.0.0.1&quot;</property>"#))
        #expect(pushing.contains(#"<property name="WS_SERVER_PATH">&quot;\/ws&quot;</property>"#))
        #expect(!pushing.contains("POLLER_FREQUENCY"))
        #expect(try await consume(client).text.isEmpty && client.server.pollers.isEmpty)
        client.server.configure { ($0.hasWebSocket, $0.hasChanges) = (false, false) }
        let nothing = try await client.get("get_xml_registry", path).xml
        #expect(!nothing.contains("core.mq") && !nothing.contains("meta.syncable"))
        let newer = try await self.client(.v8)
        newer.server.configure { $0.hasWebSocket = true }
        let booster = try await newer.get("get_xml_registry", path).xml
        #expect(booster.contains(#"<property name="WS_ACTIVE">true</property>"#))
        #expect(booster.contains(#"<property name="WS_PATH">&quot;ws&quot;</property>"#))
        #expect(booster.contains("<property name=\"BOOSTER_MAIN_PORT\">&quot;\(newer.server.port)&quot;</property>"))
    }
}
