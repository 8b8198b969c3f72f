import Foundation
import PydioTestSupport
import TestSupport
import Testing

@testable import CommandKit

/// The `pydio` commands that make a few requests and end.
@Suite(.overSockets)
struct PydioCommandTests {
    private static let commands: [[String]] = [
        ["workspaces"], ["ls", "plans:"], ["get", "plans:/a.txt", "/nowhere/file"],
        ["put", "/etc/hostname", "plans:/x"],
        ["mkdir", "plans:/d"], ["mv", "plans:/a.txt", "plans:/b"], ["cp", "plans:/a.txt", "plans:/b"],
        ["rm", "plans:/a.txt"], ["cat", "plans:/a.txt"], ["share", "plans:/a.txt"], ["bookmarks"],
        ["links", "plans:/a.txt"],
        ["bookmarks", "--add", "plans:/a.txt"], ["changes", "plans", "--json"],
    ]

    /// Names that a component in between may misinterpret.
    static let names = [
        "plan a.txt", "it's it.txt", "100%.txt", "%41%2F.txt", "a&b=c.txt", "a+b.txt", "é😀日本.txt", "a#2.txt",
        "a..b", "~", "-x", "semi;colon", "<tag>&amp;",
    ]

    // MARK: All commands

    @Test(arguments: commands + [["logout"]])
    func whoIsNotLoggedInIsToldSo(arguments: [String]) async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        let run = try scene.run(["pydio"] + arguments)
        #expect(await run.status() == 77)
        #expect(run.errors == ["error: not logged in: run pusher-cli pydio login"])
        #expect(run.output == [])
    }

    @Test(arguments: commands)
    func aServerThatIsGoneIsStatus69(arguments: [String]) async throws {
        let scene = try await PydioScene(isLoggedIn: false)
        try scene.logIn(to: "http://127.0.0.1:1")
        let run = try scene.run(["pydio"] + arguments)
        #expect(await run.status() == 69)
        #expect(run.words.contains("cannot connect to 127.0.0.1:1"))
        #expect(!run.words.contains(PydioScene.password))
    }

    @Test(arguments: commands)
    func aSessionThatIsOverIsInvisible(arguments: [String]) async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a.txt", Array("hello".utf8))
        #expect(try await scene.pydio("workspaces").status == 0)
        scene.server.expireSessions()
        let here = scene.local("out").path
        let run = try scene.run(["pydio"] + arguments.map { $0 == "/nowhere/file" ? here : $0 })
        #expect(await run.status() == 0)
        #expect(run.errors == [])
        #expect(scene.server.count("login") == 2)
    }

    @Test(arguments: commands)
    func aSessionThatEndsInTheMiddleIsInvisible(arguments: [String]) async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a.txt", Array("hello".utf8))
        #expect(try await scene.pydio("workspaces").status == 0)
        // After the list of workspaces, every request finds no login, or a token that is not valid.
        scene.server.inject(.requireAuth, after: 1)
        let here = scene.local("out").path
        let run = try scene.run(["pydio"] + arguments.map { $0 == "/nowhere/file" ? here : $0 })
        #expect(await run.status() == 0)
        #expect(run.errors == [])
    }

    @Test(arguments: commands)
    func nonsenseFromTheServerIsStatus69(arguments: [String]) async throws {
        let scene = try await PydioScene()
        #expect(try await scene.pydio("workspaces").status == 0)
        scene.server.inject(.htmlPage(), into: "get_xml_registry", times: nil)
        let run = try scene.run(["pydio"] + arguments)
        #expect(await run.status() == 69)
        #expect(run.errors.count == 1)
        #expect(!run.words.contains(PydioScene.password))
    }

    @Test func serverErrorsAreStatus65_inTheServersWords() async throws {
        let scene = try await PydioScene()
        scene.server.inject(.errorDocument("You have no write permission on this folder"), into: "mkdir")
        let (status, run) = try await scene.pydio("mkdir", "plans:/d")
        #expect(status == 65)
        #expect(run.errors == ["error: plans:/d: the server says: You have no write permission on this folder"])
    }

    @Test(arguments: [
        ["ls"], ["ls", "plans"], ["ls", ":/x"], ["ls", "plans:/a/../b"], ["get"],
        ["get", "plans:/x", "-", "--recursive"],
        ["get", "plans:/x", ""], ["put", "x"], ["put", "x", "y"], ["put", "-", "plans:/"],
        ["put", "-", "x", "plans:/y"],
        ["mkdir", "plans:"], ["mv", "plans:/x"], ["mv", "plans:/x", "team:/x", "plans:/y"],
        ["mv", "plans:", "plans:/x"],
        ["cp", "plans:/x"], ["rm", "plans:/"], ["rm"],
    ])
    func wrongUseIsStatus64(arguments: [String]) async throws {
        let run = try CommandRun(["pydio"] + arguments)
        #expect(await run.status() == 64)
        #expect(run.output == [])
    }

    // MARK: workspaces

    @Test func workspacesAreListed_butNotTheServersOwnPages() async throws {
        let scene = try await PydioScene()
        let (status, run) = try await scene.pydio("workspaces", "--json")
        #expect(status == 0)
        #expect(run.objects.allSatisfy { $0["type"] as? String == "workspace" && $0["time"] is String })
        #expect(run.objects.map { $0["slug"] as? String } == ["plans", "my-files", "team"])
        #expect(run.objects[0]["workspace_id"] as? String == "0")
        #expect(run.objects[0]["label"] as? String == "Plans")
        #expect(run.objects[0]["description"] as? String == "Drawings & notes")
        #expect(run.objects[2]["owner"] as? String == "Ada")
        let text = try await scene.pydio("workspaces").run.output
        #expect(text.first == "Plans  plans  0  Drawings & notes")
        #expect(text.count == 3)
    }

    @Test func aWorkspaceIsFoundByIdSlugAndLabel_andNeverGuessed() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a.txt", in: FakePydioWorkspace.teamID)
        for name in [FakePydioWorkspace.teamID, "team", "Team", "TEAM"] {
            let (status, run) = try await scene.pydio("ls", "\(name):", "--json")
            #expect(status == 0)
            #expect(run.objects.map { $0["path"] as? String } == ["/a.txt"])
        }
        // The server would answer from the last used workspace.
        let unknown = try await scene.pydio("ls", "99:")
        #expect(unknown.status == 65)
        #expect(
            unknown.run.errors == ["error: there is no workspace “99”: pusher-cli pydio workspaces lists them"])
        scene.server.configure { configuration in
            configuration.workspaces.append(FakePydioWorkspace(id: "7", slug: "t2", label: "Team"))
        }
        let twins = try await scene.pydio("ls", "Team:")
        #expect(twins.status == 65)
        #expect(
            twins.run.errors == [
                "error: 2 workspaces are called “Team”; give an id: \(FakePydioWorkspace.teamID) 7"
            ])
    }

    // MARK: ls

    @Test func aFolderIsListedWithSizesAndDates() async throws {
        let scene = try await PydioScene()
        scene.server.addFolder("/docs")
        try scene.server.addFile("/plan.txt", Array("0123456789".utf8))
        let (status, run) = try await scene.pydio("ls", "plans:", "--json")
        #expect(status == 0)
        let nodes = run.objects
        #expect(nodes.allSatisfy { $0["type"] as? String == "node" && $0["workspace_id"] as? String == "0" })
        #expect(nodes.map { $0["path"] as? String } == ["/docs", "/plan.txt", "/recycle_bin"])
        #expect(nodes.map { $0["kind"] as? String } == ["folder", "file", "folder"])
        #expect(nodes.map { $0["size"] as? Int } == [nil, 10, nil])
        #expect(nodes.map { $0["recycle_bin"] as? Bool } == [nil, nil, true])
        #expect((nodes[1]["modified"] as? String)?.hasSuffix("Z") == true)
        let text = try await scene.pydio("ls", "plans:").run.output
        let size = /\d{4}-\d\d-\d\d \d\d:\d\d          10  plan\.txt/
        #expect(text.count == 3)
        #expect(try size.wholeMatch(in: text[1]) != nil)
        #expect(text[0].hasSuffix("           -  docs/"))
        let file = try await scene.pydio("ls", "plans:/plan.txt").run.output
        #expect(file.count == 1 && file[0].hasSuffix("  10  /plan.txt"))
        let none = try await scene.pydio("ls", "plans:/none")
        #expect(none.status == 65)
        #expect(none.run.errors == ["error: there is no plans:/none"])
    }

    @Test func recursionGoesThroughAllPages_butNotIntoTheBin() async throws {
        var configuration = FakePydioServer.Configuration()
        (configuration.pageThreshold, configuration.pageSize) = (3, 2)
        let scene = try await PydioScene(configuration)
        for number in 1...7 { try scene.server.addFile("/docs/sub/\(number).txt") }
        try scene.server.addFile("/recycle_bin/old.txt")
        let (status, run) = try await scene.pydio("ls", "plans:", "-r", "--json")
        #expect(status == 0)
        let paths = run.objects.compactMap { $0["path"] as? String }
        #expect(Set(paths) == Set(["/docs", "/docs/sub", "/recycle_bin"] + (1...7).map { "/docs/sub/\($0).txt" }))
        #expect(paths.count == 10)
        #expect(try await scene.pydio("ls", "plans:/recycle_bin").run.output.count == 1)
    }

    @Test func namesOfOthersDriveNoTerminal_andNobodyReadingIsNoError() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a\u{1B}[2Jb\u{7}.txt")
        for number in 1...50 { try scene.server.addFile("/\(number).txt") }
        let (status, run) = try await scene.pydio("ls", "plans:")
        #expect(status == 0)
        #expect(!run.output.joined().contains("\u{1B}") && !run.output.joined().contains("\u{7}"))
        let unread = try scene.run(["pydio", "ls", "plans:"], closesOutput: true)
        #expect(await unread.status() == 0)
        #expect(unread.errors == [])
        #expect(scene.kept.contains("secureToken"))  // the session is kept anyway
    }

    // MARK: mkdir, mv, cp, rm

    @Test func foldersAreMade_withThoseAboveThem() async throws {
        let scene = try await PydioScene()
        #expect(try await scene.pydio("mkdir", "plans:/a/b").status == 65)
        let (status, run) = try await scene.pydio("mkdir", "-p", "plans:/a/b", "plans:/a/c", "--json")
        #expect(status == 0)
        #expect(run.objects.map { $0["type"] as? String } == ["created", "created", "created"])
        #expect(run.objects.map { $0["path"] as? String } == ["/a", "/a/b", "/a/c"])
        #expect(scene.server.paths() == ["/a", "/a/b", "/a/c"])
        let again = try await scene.pydio("mkdir", "plans:/a", "plans:/d")
        #expect(again.status == 65)
        #expect(again.run.errors.count == 1)
        #expect(scene.server.exists("/d"))  // the rest is created
        try scene.server.addFile("/file")
        #expect(try await scene.pydio("mkdir", "-p", "plans:/file/x").status == 65)
        #expect(try await scene.pydio("mkdir", "-p", "plans:/a/b").status == 0)
    }

    @Test(arguments: names)
    func namesArriveAsTheyAre(name: String) async throws {
        let scene = try await PydioScene()
        try scene.write("content", to: name)
        let local = scene.local(name).path
        #expect(try await scene.pydio("mkdir", "plans:/\(name) dir").status == 0)
        #expect(try await scene.pydio("put", local, "plans:/\(name) dir/").status == 0)
        #expect(scene.server.paths() == ["/\(name) dir", "/\(name) dir/\(name)"])
        #expect(scene.remoteText("/\(name) dir/\(name)") == "content")
        let listed = try await scene.pydio("ls", "plans:/\(name) dir", "--json")
        #expect(listed.run.objects.map { $0["path"] as? String } == ["/\(name) dir/\(name)"])
        let got = try await scene.pydio("get", "plans:/\(name) dir/\(name)", "-")
        #expect(got.run.output == ["content"])
        #expect(try await scene.pydio("cp", "plans:/\(name) dir/\(name)", "plans:/copy \(name)").status == 0)
        #expect(try await scene.pydio("mv", "plans:/copy \(name)", "plans:/\(name) dir/second \(name)").status == 0)
        #expect(scene.remoteText("/\(name) dir/second \(name)") == "content")
        let folder = scene.local("got")
        #expect(try await scene.pydio("get", "-r", "plans:/\(name) dir", folder.path).status == 0)
        #expect(scene.text(of: "got/\(name)") == "content")
        #expect(try await scene.pydio("rm", "-r", "plans:/\(name) dir").status == 0)
        #expect(!scene.server.exists("/\(name) dir"))
    }

    @Test func movingIsIntoAFolder_orToAName() async throws {
        let scene = try await PydioScene()
        for name in ["a", "b", "c"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        scene.server.addFolder("/d")
        let (status, run) = try await scene.pydio("mv", "plans:/a", "plans:/b", "plans:/d", "--json")
        #expect(status == 0)
        #expect(run.objects.map { $0["from"] as? String } == ["/a", "/b"])
        #expect(run.objects.map { $0["path"] as? String } == ["/d/a", "/d/b"])
        #expect(try await scene.pydio("mv", "plans:/d/a", "plans:/d/z").status == 0)
        #expect(try await scene.pydio("mv", "plans:/d/z", "plans:/y").status == 0)
        #expect(scene.server.paths() == ["/c", "/d", "/d/b", "/y"])
        #expect(scene.remoteText("/y") == "a")
        #expect(try await scene.pydio("mv", "plans:/d", "plans:/d/e").status == 65)  // into itself
        #expect(try await scene.pydio("mv", "plans:/y", "plans:/y").status == 65)
        #expect(try await scene.pydio("mv", "plans:/none", "plans:/x").status == 65)
        #expect(try await scene.pydio("mv", "plans:/c", "plans:/y", "plans:/none").status == 65)
        #expect(try await scene.pydio("mv", "plans:/c", "plans:/none/").status == 65)
        #expect(scene.server.paths() == ["/c", "/d", "/d/b", "/y"])
    }

    @Test func nothingIsReplacedWithoutForce() async throws {
        let scene = try await PydioScene()
        for name in ["a", "b", "d/a"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        for command in ["mv", "cp"] {
            let refused = try await scene.pydio(command, "plans:/a", "plans:/b")
            #expect(refused.status == 65)
            #expect(refused.run.errors == ["error: plans:/b already exists: --force replaces it"])
            #expect(try await scene.pydio(command, "plans:/a", "plans:/d").status == 65)
        }
        #expect(scene.server.paths() == ["/a", "/b", "/d", "/d/a"])
        #expect(try await scene.pydio("cp", "plans:/a", "plans:/b", "--force").status == 0)
        #expect(scene.remoteText("/b") == "a")
        #expect(try await scene.pydio("mv", "plans:/b", "plans:/d/a", "--force").status == 0)
        #expect(scene.remoteText("/d/a") == "a")
        #expect(try await scene.pydio("mv", "plans:/a", "plans:/d", "--force").status == 0)
        #expect(scene.remoteText("/d/a") == "a")
    }

    @Test func copiesGetTheirName_besideTheOriginalToo() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a.txt", Array("a".utf8))
        scene.server.addFolder("/d")
        let (status, run) = try await scene.pydio("cp", "plans:/a.txt", "plans:/b.txt", "--json")
        #expect(status == 0)
        #expect(run.objects.map { $0["type"] as? String } == ["copied"])
        #expect(try await scene.pydio("cp", "plans:/a.txt", "plans:/d/c.txt").status == 0)
        #expect(try await scene.pydio("cp", "plans:/d", "plans:/e").status == 0)
        #expect(scene.server.paths() == ["/a.txt", "/b.txt", "/d", "/d/c.txt", "/e", "/e/c.txt"])
    }

    @Test func foldersAreDeletedOnlyRecursively_andNothingIfOneIsMissing() async throws {
        let scene = try await PydioScene()
        for name in ["a", "b", "d/x"] { try scene.server.addFile("/\(name)") }
        let folder = try await scene.pydio("rm", "plans:/a", "plans:/d")
        #expect(folder.status == 65)
        #expect(
            folder.run.errors == ["error: plans:/d is a folder: --recursive deletes it; nothing is deleted"])
        let missing = try await scene.pydio("rm", "plans:/a", "plans:/none")
        #expect(missing.status == 65)
        #expect(missing.run.errors == ["error: there is no plans:/none; nothing is deleted"])
        #expect(scene.server.count("delete") == 0)
        let (status, run) = try await scene.pydio(
            "rm", "plans:/a", "plans:/none", "plans:/d", "plans:/a", "--recursive", "--force", "--json")
        #expect(status == 0)
        #expect(run.objects.map { $0["path"] as? String } == ["/a", "/d"])
        #expect(scene.server.count("delete") == 1)
        #expect(scene.server.paths().filter { !$0.hasPrefix("/recycle_bin") } == ["/b"])
    }
}
