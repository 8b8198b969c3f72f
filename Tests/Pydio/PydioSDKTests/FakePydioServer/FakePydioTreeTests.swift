import PydioTestSupport
import Testing

/// Sections 6.2 to 6.4 and 7 of the protocol's notes.
@Suite struct FakePydioTreeTests {
    private func client(_ mode: FakePydioMode = .v5_2) async throws -> RawClient {
        try await RawClient.start(.start(.init(mode: mode)))
    }

    // MARK: Listing

    @Test func foldersComeFirstAndTheBinLast() async throws {
        let client = try await client()
        try client.server.addFile("/plan é.txt", Array(repeating: 7, count: 42))
        try client.server.addFile("/all.zip")
        client.server.addFolder("/Notes")
        let answer = try await client.get("ls", ["tmp_repository_id": "0", "dir": "/", "options": "al"])
        #expect(answer.xml.hasPrefix(#"<tree repo_has_recycle="true" is_file="false" filename="" text="""#))
        #expect(answer.attributes("filename") == ["", "/Notes", "/all.zip", "/plan é.txt", "/recycle_bin"])
        #expect(
            answer.attributes("ajxp_mime") == [
                "ajxp_folder", "ajxp_folder", "ajxp_browsable_archive", "ajxp_recycle",
            ])
        #expect(answer.attributes("bytesize") == ["0", "0", "0", "42", "0"])
        #expect(answer.attributes("is_file") == ["false", "false", "true", "true", "false"])
        #expect(answer.attributes("ajxp_modiftime").count == 5 && answer.attributes("ajxp_relativetime").isEmpty)
    }

    @Test func optionsChooseWhatIsListed() async throws {
        let client = try await client()
        try client.server.addFile("/b.txt")
        try client.server.addFile("/all.zip")
        client.server.addFolder("/a")
        func names(_ options: String) async throws -> [String] {
            Array(try await client.get("ls", ["options": options]).attributes("filename").dropFirst())
        }
        #expect(try await names("d") == ["/a", "/recycle_bin"])
        #expect(try await names("f") == ["/b.txt"])
        #expect(try await names("z") == ["/all.zip"])
        #expect(try await client.get("ls", ["options": "a"]).attributes("bytesize").isEmpty)
        #expect(
            try await client.get("ls", ["options": "al", "file": "b.txt"]).attributes("filename") == ["", "/b.txt"])
    }

    @Test func bigFoldersComeInPages() async throws {
        let client = try await client()
        client.server.configure { ($0.pageThreshold, $0.pageSize) = (5, 3) }
        for number in 0..<7 { try client.server.addFile("/many/\(number)") }
        let first = try await client.get("ls", ["dir": "/many", "options": "al"])
        #expect(
            first.xml.contains(
                ##"><pagination count="7" total="3" current="1" overflowMessage="1/3" icon="folder.png" dirsCount="0"/>"##
            ))
        #expect(first.attributes("filename") == ["/many", "/many/0", "/many/1", "/many/2"])
        let last = try await client.get("ls", ["dir": "/many%233", "options": "al"])
        #expect(last.attributes("filename") == ["/many", "/many/6"])
        #expect(client.server.requests("ls").last?.parameter("dir") == "/many%233")
    }

    @Test func recursionGoesAsDeepAsItIsTold() async throws {
        let client = try await client()
        try client.server.addFile("/a/b/c.txt")
        let all = try await client.get("ls", ["dir": "/a", "recursive": "true", "options": "al"])
        #expect(all.attributes("filename") == ["/a", "/a/b", "/a/b/c.txt"])
        let one = try await client.get("ls", ["dir": "/a", "recursive": "true", "max_depth": "1", "options": "al"])
        #expect(one.attributes("filename") == ["/a", "/a/b"] && one.attribute("ajxp_has_children") == "true")
    }

    @Test func aFolderThatIsNotThereIsAnError() async throws {
        let answer = try await client().get("ls", ["dir": "/no"])
        #expect(answer.xml.hasPrefix(#"<tree ><message type="ERROR">Error while trying to open directory"#))
    }

    @Test func namesAreEscapedAndComparedByBytes() async throws {
        let client = try await client()
        try client.server.addFile("/a \"b\" 'c' & <d>.txt", [1])
        try client.server.addFile("/caf\u{E9}", [1])
        let answer = try await client.get("ls", ["options": "al"])
        #expect(answer.text.contains(#" filename="/a &quot;b&quot; &apos;c&apos; &amp; &lt;d&gt;.txt" "#))
        let stat = try await client.get("stat", ["file": "/caf\u{E9}"]).json as? [String: Any]
        #expect(stat?["size"] as? Int == 1 && stat?["7"] as? Int == 1)
        let other = try await client.get("stat", ["file": "/cafe\u{301}"]).json as? [String: Any]
        #expect(other?["size"] == nil)
    }

    // MARK: Changing

    @Test func makingAFolderAnswersAMessageAndADiff() async throws {
        let client = try await client()
        let answer = try await client.post("mkdir", ["dir": "/", "dirname": "a"])
        let start =
            #"<tree ><message type="SUCCESS">The directory a has been created in /</message><nodes_diff><add>"#
            + #"<tree is_file="false" filename="/a" text="a" "#
        #expect(answer.xml.hasPrefix(start) && answer.xml.hasSuffix("/></add></nodes_diff></tree>"))
        let again = try await client.post("mkdir", ["dir": "/", "dirname": "a"])
        #expect(
            again.xml
                == #"<tree ><message type="ERROR">This directory already exists (names are case insensitive)</message></tree>"#
        )
    }

    @Test func newerServersSayThatThereIsSomethingToConsume() async throws {
        let answer = try await client(.v8).post("mkdir", ["dir": "/", "dirname": "a"])
        #expect(answer.xml.hasSuffix("</nodes_diff><consume_channel/></tree>"))
        #expect(answer.attribute("node_repository_id") == "0")
    }

    @Test func whatIsDeletedGoesToTheBinAndFromThereForGood() async throws {
        let client = try await client()
        try client.server.addFile("/d/a.txt")
        let answer = try await client.post("delete", ["nodes[]": "/d/a.txt"])
        #expect(
            answer.xml.contains(#"<nodes_diff><remove><tree filename="/d/a.txt"/></remove><add><tree is_file="true" "#))
        #expect(client.server.paths() == ["/d", "/recycle_bin", "/recycle_bin/a.txt"])
        #expect(try await client.post("restore", ["nodes[]": "/recycle_bin/a.txt"]).text == "")
        let back = try await client.post("restore", ["nodes[]": "/recycle_bin/a.txt", "dir": "/recycle_bin"])
        #expect(back.attributes("filename") == ["/recycle_bin/a.txt", "/d/a.txt"])
        _ = try await client.post("delete", ["nodes[]": "/d/a.txt"])
        let refused = try await client.post("delete", ["nodes[]": "/recycle_bin/a.txt"])
        #expect(refused.xml.contains("The origin and destination folders are the same!"))
        let final = try await client.post("delete", ["nodes[]": "/recycle_bin/a.txt", "dir": "/recycle_bin"])
        #expect(final.xml.contains(#"<remove><tree filename="/recycle_bin/a.txt"/></remove></nodes_diff>"#))
        #expect(client.server.paths() == ["/d"])
        let nothing = try await client.post("delete")
        #expect(nothing.xml == #"<tree ><message type="ERROR">The selection is empty!</message></tree>"#)
    }

    @Test func onlyNewerServersEmptyTheBin() async throws {
        let client = try await client()
        try client.server.addFile("/recycle_bin/a.txt")
        #expect(try await client.post("empty_recycle").text == "")
        #expect(client.server.exists("/recycle_bin/a.txt"))
    }

    @Test func emptyingTheBinLeavesIt() async throws {
        let client = try await client(.v8)
        try client.server.addFile("/a.txt")
        _ = try await client.post("delete", ["file": "/a.txt"])
        #expect(try await client.post("empty_recycle").attributes("filename") == ["/recycle_bin/a.txt"])
        #expect(client.server.paths().isEmpty && client.server.exists("/recycle_bin"))
    }

    @Test func renamingMovingAndCopyingAnswerDifferentDiffs() async throws {
        let client = try await client()
        try client.server.addFile("/a.txt", [1, 2])
        client.server.addFolder("/d")
        let renamed = try await client.post("rename", ["file": "/a.txt", "filename_new": "b.txt"])
        #expect(renamed.xml.contains("<nodes_diff><update><tree ") && renamed.attribute("original_path") == "/a.txt")
        let moved = try await client.post("move", ["nodes[]": "/b.txt", "dest": "/d"])
        #expect(
            moved.xml.contains(
                #"<remove><tree filename="/b.txt"/></remove><add><tree is_file="true" filename="/d/b.txt""#))
        #expect(moved.attribute("original_path") == nil)
        let copied = try await client.post("copy", ["nodes[]": "/d/b.txt", "dest": "/d"])
        // The copy exists, but the answer names the original.
        #expect(copied.xml.contains(#"<nodes_diff><add><tree is_file="true" filename="/d/b.txt""#))
        #expect(client.server.exists("/d/b-1.txt"))
        let whole = try await client.post("rename", ["file": "/d/b-1.txt", "dest": "/c.txt", "filename_new": "x"])
        #expect(whole.xml.contains("renamed to </message>"))
        #expect(whole.attribute("filename") == "/d/" && whole.attribute("is_file") == "false")
        #expect(
            client.server.paths() == ["/c.txt", "/d", "/d/b.txt"] && client.server.contents(of: "/c.txt") == [1, 2])
    }

    @Test func pathsNeverLeaveTheWorkspace() async throws {
        let client = try await client()
        _ = try await client.post("mkdir", ["dir": "/../..", "dirname": "x"])
        _ = try await client.post("mkdir", ["dir": "/", "dirname": "a/../../y"])
        #expect(client.server.paths() == ["/a....y", "/x"])
    }

    @Test func namesAreCleanedInSilence_butNotInWholePaths() async throws {
        let client = try await client()
        #expect(try await client.post("mkdir", ["dir": "/", "dirname": " d\"q "]).attribute("filename") == "/dq")
        #expect(try await client.post("mkfile", ["dir": "/", "filename": "a|?b"]).attribute("filename") == "/ab")
        let renamed = try await client.post("rename", ["file": "/ab", "filename_new": "c\\/d"])
        #expect(renamed.attribute("filename") == "/cd")
        _ = try await client.post("rename", ["file": "/cd", "dest": "/e\"f"])
        #expect(client.server.paths() == ["/dq", "/e\"f"])
        for (action, name) in [("mkdir", "dirname"), ("mkfile", "filename")] {
            #expect(try await client.post(action, ["dir": "/", name: ".a"]).text.contains("Forbidden"))
        }
    }

    // MARK: Contents

    @Test func contentsAreReadAndWritten() async throws {
        let client = try await client()
        #expect(
            try await client.post("mkfile", ["dir": "/", "filename": "n", "content": "a"]).attribute("bytesize") == "1")
        #expect(try await client.get("get_content", ["file": "/n"]).text == "a")
        _ = try await client.post("put_content", ["file": "/n", "content": "a&lt;b"])
        #expect(client.server.contents(of: "/n") == Array("a<b".utf8))
        let put = try await client.post("put_content", ["file": "/n", "content": "aGk=", "encode": "base64"])
        #expect(put.type.hasPrefix("text/plain") && client.server.contents(of: "/n") == Array("hi".utf8))
        #expect(try await client.post("put_content", ["file": "/no", "content": "x"]).text == "1002")
    }

    @Test func statOfNothingAndOfSeveral() async throws {
        let client = try await client()
        try client.server.addFile("/a", [1, 2, 3])
        #expect(try await client.get("stat", ["file": "/no"]).text == "{}")
        let answer = try await client.get("stat", ["nodes[]": "/a", "nodes[]": "/no"])
        let all = answer.json as? [String: [String: Any]]
        #expect(answer.type == "application/json" && all?["/a"]?["size"] as? Int == 3 && all?["/no"]?.isEmpty == true)
        let hash = try await client.get("stat_hash", ["file": "/a"]).json as? [String: Any]
        #expect(hash?["hash"] as? String == "5289df737df57326fcdd22597afb1fac")
    }

    @Test func bookmarksAreKept() async throws {
        let client = try await client()
        client.server.addFolder("/a")
        let added = try await client.get(
            "get_bookmarks", ["bm_action": "add_bookmark", "bm_path": "/a", "bm_title": "A"])
        #expect(added.xml == #"<tree ><bookmark path="/a" title="A"/></tree>"#)
        #expect(try await client.get("ls", ["options": "al"]).attribute("ajxp_bookmarked") == "true")
        #expect(
            try await client.get("get_bookmarks", ["bm_action": "delete_bookmark", "bm_path": "/a"]).xml
                == "<tree ></tree>")
    }

    @Test func linksAreMadeLookedAtAndTakenAway() async throws {
        let client = try await client()
        try client.server.addFile("/a")
        let links = [
            try await client.post("share", ["file": "/a"]).text, try await client.post("share", ["file": "/a"]).text,
        ]
        for link in links {
            let data = try await client.get("load_shared_element_data", ["file": "/a", "element_type": "file"])
            #expect((data.json as? [String: Any])?["publiclet_link"] as? String == link)
            #expect(try await client.post("unshare", ["file": "/a"]).text == "")
        }
        #expect(try await client.get("load_shared_element_data", ["file": "/a"]).text == "[]")
    }

    @Test func newerServersTakeAllLinksAway_andSaySo() async throws {
        let client = try await client(.v8)
        try client.server.addFile("/a")
        for _ in 1...2 { _ = try await client.post("share", ["file": "/a"]) }
        #expect(client.server.shareCount(of: "/a") == 2)
        let data = try await client.get("load_shared_element_data", ["file": "/a"]).json as? [String: Any]
        #expect((data?["links"] as? [String: Any])?.count == 1)
        client.server.configure { $0.findsShares = false }
        #expect(
            try await client.get("load_shared_element_data", ["file": "/a"]).xml.contains("Could not find any share"))
        for _ in 1...2 {
            #expect(try await client.post("unshare", ["file": "/a"]).xml.hasPrefix(#"<tree ><message type="SUCCESS">"#))
            #expect(client.server.shareCount(of: "/a") == 0)
        }
    }
}
