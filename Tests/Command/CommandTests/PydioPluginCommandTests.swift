import Foundation
import PydioTestSupport
import TestSupport
import Testing

@testable import PusherCommands

/// `pydio search`, `stat`, `quota`, `compress`, `extract`, `meta`, `comments`, `lock`, `unlock`, `notify`, `feed`, `chmod`,
/// `purge`, `mv` and `cp` between workspaces, `--verify`, `watch --since`.
@Suite(.overSockets)
struct PydioPluginCommandTests {
    private static let team = FakePydioWorkspace.teamID
    private static let helloMD5 = "5d41402abc4b2a76b9719d911017c592"

    /// Returns a scene with `/a.txt` and `/docs/b.txt` in `plans`.
    private func scene(
        _ mode: FakePydioMode = .v5_2, without plugin: FakePydioPlugin? = nil
    ) async throws -> PydioScene {
        var configuration = FakePydioServer.Configuration(mode: mode)
        if let plugin { configuration.plugins.remove(plugin) }
        let scene = try await PydioScene(configuration)
        try scene.server.addFile("/a.txt", Array("hello".utf8))
        try scene.server.addFile("/docs/b.txt", Array("world".utf8))
        return scene
    }

    // MARK: Use

    @Test(arguments: [
        ["search"], ["search", "plans"], ["search", "plans", " "], ["search", "plans", "x", "--limit", "0"],
        ["stat"], ["stat", "a.txt"], ["compress", "plans:/a"], ["compress", "plans:/a", "plans:/b"],
        ["compress", "plans:/a", "plans:/d/b.zip"], ["compress", "plans:/a", "team:/b.zip"],
        ["compress", "plans:", "plans:/b.zip"], ["extract"], ["extract", "plans:/a"],
        ["extract", "plans:/a.zip", "team:/"], ["meta"], ["meta", "plans:"], ["meta", "plans:/a", "tags"],
        ["meta", "plans:/a", "=x"], ["meta", "plans:/a", "tags=1", "tags=2"], ["comments"],
        ["comments", "plans:/a", "--add", " "], ["comments", "plans:/a", "--remove", "0"],
        ["comments", "plans:/a", "--add", "x", "--remove", "1"], ["lock"], ["lock", "plans:"], ["unlock", "plans:"],
        ["notify"], ["notify", "plans:"], ["notify", "plans:/a", "--of", "all"], ["feed"],
        ["feed", "plans", "--limit", "0"], ["chmod", "644"], ["chmod", "8", "plans:/a"],
        ["chmod", "99999", "plans:/a"],
        ["chmod", "٦٤٤", "plans:/a"], ["purge"], ["purge", "plans"], ["mv", "plans:/a", "team:/a", "plans:/b"],
        ["cp", "plans:", "team:/"], ["watch", "plans", "--since", "-1"], ["watch", "plans", "--since", "x"],
    ])
    func wrongUseIsStatus64_beforeAnythingIsSent(arguments: [String]) async throws {
        let scene = try await PydioScene()
        let run = try scene.run(["pydio"] + arguments)
        #expect(await run.status() == 64)
        #expect(run.output == [] && scene.server.requests.isEmpty)
    }

    /// Commands that the server does not support, by the missing plugin.
    private static let unsupported: [(FakePydioPlugin, [String])] = [
        (.search, ["search", "plans", "a"]), (.hashes, ["stat", "plans:/a.txt", "--hash"]),
        (.hashes, ["get", "plans:/a.txt", "-", "--verify"]),
        (.hashes, ["put", "/etc/hostname", "plans:/h", "--verify"]),
        (.crossCopy, ["cp", "plans:/a.txt", "team:/"]), (.crossCopy, ["mv", "plans:/a.txt", "team:/"]),
        (.archives, ["compress", "plans:/a.txt", "plans:/a.zip"]), (.metadata, ["meta", "plans:/a.txt"]),
        (.metadata, ["meta", "plans:/a.txt", "tags=x"]), (.comments, ["comments", "plans:/a.txt"]),
        (.comments, ["comments", "plans:/a.txt", "--add", "x"]), (.locks, ["lock", "plans:/a.txt"]),
        (.locks, ["unlock", "plans:/a.txt"]), (.quota, ["quota", "plans"]),
        (.watches, ["notify", "plans:/a.txt", "--of", "both"]), (.feed, ["feed", "plans"]),
        (.permissions, ["chmod", "600", "plans:/a.txt"]), (.purge, ["purge", "plans", "--force"]),
    ]

    @Test(arguments: FakePydioMode.allCases, unsupported.indices)
    func whatTheServerDoesNotHaveIsStatus69_andNothingIsChanged(mode: FakePydioMode, index: Int) async throws {
        let (plugin, arguments) = Self.unsupported[index]
        let scene = try await scene(mode, without: plugin)
        let before = scene.server.paths()
        let run = try scene.run(["pydio"] + arguments)
        #expect(await run.status() == 69)
        #expect(run.output == [])
        #expect(run.errors.count == 1 && run.words.contains("does not offer"))
        #expect(scene.server.paths() == before && scene.server.paths(in: Self.team) == [])
    }

    // MARK: Finding and looking

    @Test(arguments: FakePydioMode.allCases)
    func foundNodesAreListedWithTheirPaths(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        let (status, run) = try await scene.pydio("search", "plans", ".TXT")
        #expect(status == 0 && run.errors == [])
        #expect(run.output.map { $0.split(separator: " ").last } == ["/a.txt", "/docs/b.txt"])
        let json = try await scene.pydio("search", "plans", "*", "--json", "--limit", "2")
        #expect(json.run.objects.map { $0["path"] as? String } == ["/a.txt", "/docs"])
        #expect(json.run.objects.map { $0["kind"] as? String } == ["file", "folder"])
        #expect(try await scene.pydio("search", "plans", "nowhere").run.output == [])
        let hostile = "a\u{202E}b.txt"
        try scene.server.addFile("/" + hostile)
        let found = try await scene.pydio("search", "plans", "b.txt")
        #expect(found.run.output.contains { $0.hasSuffix("/a\u{202E}b.txt") })
    }

    @Test(arguments: FakePydioMode.allCases)
    func statPrintsEachNode_andReportsTheMissing(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        let (status, run) = try await scene.pydio("stat", "plans:/a.txt", "plans:/none", "plans:/docs", "--hash")
        #expect(status == 65)
        #expect(run.errors == ["error: there is no plans:/none"])
        #expect(run.output.first?.hasSuffix("  5  0600  \(Self.helloMD5)  plans:/a.txt") == true)
        #expect(run.output.last?.hasSuffix("plans:/docs/") == true)
        let json = try await scene.pydio("stat", "plans:/a.txt", "--hash", "--json")
        #expect(json.run.objects.first?["md5"] as? String == Self.helloMD5)
        #expect(json.run.objects.first?["permissions"] as? String == "0600")
        #expect(json.run.objects.first?["size"] as? Int == 5)
        let plain = try await scene.pydio("stat", "plans:/a.txt", "--json")
        #expect(plain.run.objects.first?["md5"] == nil && scene.server.count("stat_hash") == 4)
    }

    @Test func quotasOfAllWorkspacesArePrinted() async throws {
        let scene = try await scene()
        scene.server.configure { $0.workspaces[0].quota = 40 }
        let (status, run) = try await scene.pydio("quota")
        #expect(status == 0)
        #expect(
            run.output == ["plans  10 of 40 bytes  25 %", "my-files  0 bytes  no limit", "team  0 bytes  no limit"])
        let json = try await scene.pydio("quota", "plans", "--json")
        #expect(json.run.objects.first?["used"] as? Int == 10 && json.run.objects.first?["total"] as? Int == 40)
        let unknown = try await scene.pydio("quota", "plans", "nope")
        #expect(unknown.status == 65 && unknown.run.output.count == 1)
    }

    @Test(arguments: FakePydioMode.allCases)
    func theFeedIsPrinted(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        scene.server.act("mkdir", ["dir": "/docs", "dirname": "x\u{1B}y"], as: "ada")
        scene.server.act("rename", ["file": "/a.txt", "filename_new": "b.txt"], as: "ada")
        let (status, run) = try await scene.pydio("feed", "plans", "--json")
        #expect(status == 0)
        #expect(run.objects.map { $0["path"] as? String } == ["/b.txt", "/docs/xy"])
        let text = try await scene.pydio("feed", "plans")
        #expect(text.run.output.first?.hasSuffix("/b.txt") == true)
        #expect(try await scene.pydio("feed", "team").run.output == [])
    }

    // MARK: --verify

    @Test(arguments: FakePydioMode.allCases)
    func transfersAreComparedWithTheServersHashes(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        try scene.write("one", to: "tree/1.txt")
        try scene.write("", to: "tree/empty")
        let put = try await scene.pydio("put", "-r", "--verify", scene.local("tree").path, "plans:/up")
        #expect(put.status == 0 && put.run.errors == [])
        let get = try await scene.pydio("get", "-r", "--verify", "plans:/up", scene.local("back").path)
        #expect(get.status == 0 && scene.text(of: "back/1.txt") == "one" && scene.text(of: "back/empty") == "")
        let out = try await scene.pydio("get", "--verify", "plans:/a.txt", "-")
        #expect(out.status == 0 && out.run.output == ["hello"])
        #expect(scene.server.count("stat_hash") > 6)
    }

    @Test func whatDiffersIsReportedAndKept() async throws {
        let scene = try await scene()
        try scene.write("mine", to: "mine")
        let wrong = String(repeating: "0", count: 32)
        scene.server.setGate { request in
            guard request.action == "stat_hash", request.parameter("file") != "/" else { return nil }
            return .text(#"{"size":5,"mtime":1,"mode":33188,"hash":"\#(wrong)"}"#, type: "application/json")
        }
        let get = try await scene.pydio("get", "--verify", "plans:/a.txt", scene.local("back").path)
        #expect(get.status == 65 && scene.text(of: "back") == "hello")
        #expect(get.run.errors.first?.contains("differs from plans:/a.txt: its MD5 is \(Self.helloMD5)") == true)
        let out = try await scene.pydio("get", "--verify", "plans:/a.txt", "-")
        #expect(out.status == 65 && out.run.output == [])
        let put = try await scene.pydio("put", "--verify", scene.local("mine").path, "plans:/mine")
        #expect(put.status == 65 && scene.remoteText("/mine") == "mine" && put.run.output == [])
        #expect(put.run.errors.first?.contains("plans:/mine differs from") == true)
        scene.server.setGate {
            $0.action == "stat_hash" ? .text("{\"size\":5,\"hash\":\"?\"}", type: "application/json") : nil
        }
        let strange = try await scene.pydio("get", "--verify", "plans:/a.txt", scene.local("other").path)
        #expect(strange.status == 69 && scene.text(of: "other") == nil)
    }

    // MARK: Between workspaces

    @Test(arguments: FakePydioMode.allCases)
    func filesAndFoldersGoToAnotherWorkspace(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        let copy = try await scene.pydio("cp", "plans:/a.txt", "plans:/docs", "team:", "--json")
        #expect(copy.status == 0 && copy.run.errors == [])
        #expect(copy.run.objects.map { $0["type"] as? String } == ["copied", "copied"])
        #expect(copy.run.objects.first?["from_workspace_id"] as? String == "0")
        #expect(copy.run.objects.first?["workspace_id"] as? String == Self.team)
        #expect(scene.server.paths(in: Self.team) == ["/a.txt", "/docs", "/docs/b.txt"])
        // Workspaces are compared by identity, not by the form of their names.
        #expect(try await scene.pydio("cp", "Plans:/a.txt", "0:/docs/c.txt").status == 0)
        #expect(scene.server.count("cross_copy") == 2)
        let taken = try await scene.pydio("mv", "plans:/a.txt", "team:/")
        #expect(taken.status == 65 && scene.server.exists("/a.txt"))
        #expect(taken.run.errors == ["error: team:/a.txt already exists: --force replaces it"])
        try scene.server.addFile("/a.txt", Array("newer".utf8))
        #expect(try await scene.pydio("mv", "plans:/a.txt", "team:/", "--force").status == 0)
        #expect(scene.remoteText("/a.txt", in: Self.team) == "newer" && !scene.server.exists("/a.txt"))
        #expect(scene.server.paths(in: Self.team) == ["/a.txt", "/docs", "/docs/b.txt"])
        let renamed = try await scene.pydio("mv", "plans:/docs", "team:/d\"2")
        #expect(renamed.status == 0 && renamed.run.errors == ["warning: the server calls team:/d\"2 team:/d2"])
        #expect(scene.server.exists("/d2/c.txt", in: Self.team) && scene.server.exists("/recycle_bin/docs/c.txt"))
    }

    @Test func aWorkspaceThatTheServerDoesNotListForCopiesIsNamed() async throws {
        let scene = try await scene()
        scene.server.configure { $0.plugins.remove(.crossCopy) }
        let (status, run) = try await scene.pydio("mv", "plans:/a.txt", "team:/x")
        #expect(status == 69 && scene.server.count("mkdir") == 0)
        #expect(
            run.errors.first?.hasPrefix(
                "error: the server does not offer moves between plans and team (cross_copy): it does not list plans")
                == true)
    }

    // MARK: Archives

    @Test(arguments: FakePydioMode.allCases)
    func archivesAreMadeAndUnpacked(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        let made = try await scene.pydio("compress", "plans:/a.txt", "plans:/docs", "plans:/all.zip")
        #expect(made.status == 0 && made.run.output == ["plans:/all.zip"])
        let again = try await scene.pydio("compress", "plans:/a.txt", "plans:/all.zip")
        #expect(again.status == 65)
        let none = try await scene.pydio("compress", "plans:/none", "plans:/none.zip")
        #expect(none.status == 65 && none.run.errors == ["error: there is no plans:/none"])
        scene.server.act("mkdir", ["dir": "/", "dirname": "out"], as: "ada")
        let unpacked = try await scene.pydio("extract", "plans:/all.zip", "plans:/out", "--json")
        #expect(unpacked.status == 0)
        #expect(Set(unpacked.run.objects.map { $0["path"] as? String }) == ["/out/a.txt", "/out/docs"])
        #expect(scene.remoteText("/out/docs/b.txt") == "world")
        let here = try await scene.pydio("extract", "plans:/all.zip")
        #expect(here.status == 65 && here.run.words.contains("already exists"))
        #expect(try await scene.pydio("extract", "plans:/all.zip", "plans:/nowhere").status == 65)
        #expect(try await scene.pydio("extract", "plans:/none.zip").status == 65)
    }

    // MARK: Users' data about nodes

    @Test(arguments: FakePydioMode.allCases)
    func metadataIsPrintedAndChanged(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        let (status, run) = try await scene.pydio("meta", "plans:/a.txt", "tags=roof, draft=2", "note=\u{202E}")
        #expect(status == 0)
        #expect(run.output == ["tags  Tags  roof, draft=2", "note  A note  \u{202E}"])
        #expect(try await scene.pydio("meta", "plans:/a.txt", "note=").status == 0)
        let json = try await scene.pydio("meta", "plans:/a.txt", "--json")
        #expect(json.run.objects.map { $0["value"] as? String } == ["roof, draft=2", ""])
        let unknown = try await scene.pydio("meta", "plans:/a.txt", "dir=/")
        #expect(unknown.status == 65)
        #expect(unknown.run.errors.first?.contains("no metadata field dir, only tags, note") == true)
        #expect(try await scene.pydio("meta", "plans:/none").status == 65)
    }

    @Test(arguments: FakePydioMode.allCases)
    func commentsAreListedAddedAndRemoved(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        scene.server.act("post_comment", ["file": "/a.txt", "content": "Bob's\n\u{9B}31m"], as: "bob")
        let (status, run) = try await scene.pydio("comments", "plans:/a.txt", "--add", "Mine")
        #expect(status == 0 && run.output.count == 2)
        #expect(run.output.last?.hasPrefix("2  ") == true && run.output.last?.hasSuffix("  ada  Mine") == true)
        #expect(!run.words.contains("\u{9B}"))
        let json = try await scene.pydio("comments", "plans:/a.txt", "--json")
        #expect(json.run.objects.map { $0["author"] as? String } == ["bob", "ada"])
        #expect(json.run.objects.map { $0["number"] as? Int } == [1, 2])
        let others = try await scene.pydio("comments", "plans:/a.txt", "--remove", "1")
        #expect(others.status == 65 && others.run.words.contains("can delete their own"))
        #expect(try await scene.pydio("comments", "plans:/a.txt", "--remove", "3").status == 65)
        #expect(try await scene.pydio("comments", "plans:/a.txt", "--remove", "2").run.output.count == 1)
    }

    @Test(arguments: FakePydioMode.allCases)
    func locksAreTakenAndGivenBack(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        let (status, run) = try await scene.pydio("lock", "plans:/a.txt", "plans:/none", "plans:/docs", "--json")
        #expect(status == 65 && run.objects.map { $0["path"] as? String } == ["/a.txt", "/docs"])
        let listed = try await scene.pydio("ls", "plans:", "--json")
        #expect(listed.run.objects.prefix(2).map { $0["locked_by"] as? String } == ["you", "you"])
        #expect(try await scene.pydio("unlock", "plans:/a.txt", "plans:/docs").status == 0)
        scene.server.configure { $0.users[1].rights = nil }
        scene.server.act("sl_lock", ["file": "/a.txt"], as: "bob")
        for command in ["lock", "unlock"] {
            let others = try await scene.pydio(command, "plans:/a.txt")
            #expect(others.status == 65 && others.run.words.contains("locked by somebody else"))
        }
        #expect(try await scene.pydio("unlock", "plans:/a.txt", "--force").status == 0)
        #expect(try await scene.pydio("lock", "plans:/a.txt").status == 0)
    }

    @Test(arguments: FakePydioMode.allCases)
    func notificationsAreChosenAndPrinted(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        let (status, run) = try await scene.pydio("notify", "plans:/docs", "plans:/a.txt", "--of", "changes")
        #expect(status == 0 && run.output == ["plans:/docs  changes", "plans:/a.txt  changes"])
        #expect(
            try await scene.pydio("notify", "plans:/docs", "--of", "nothing").run.output == ["plans:/docs  nothing"])
        let json = try await scene.pydio("notify", "plans:/docs", "plans:/a.txt", "--json")
        #expect(json.run.objects.map { $0["of"] as? String } == ["nothing", "changes"])
    }

    @Test func permissionsAreChanged() async throws {
        let scene = try await scene()
        #expect(try await scene.pydio("chmod", "640", "plans:/a.txt", "plans:/docs", "-r").status == 0)
        let stat = try await scene.pydio("stat", "plans:/a.txt", "--json")
        #expect(stat.run.objects.first?["permissions"] as? String == "0640")
        #expect(scene.server.requests("chmod").allSatisfy { $0.parameter("recursive") == "on" })
    }

    @Test func aPurgeSaysThatTheServerSaysNothing() async throws {
        let scene = try await scene()
        let (status, run) = try await scene.pydio("purge", "plans", "--force")
        #expect(status == 0 && run.output == [] && scene.server.count("purge") == 1)
        #expect(run.errors == ["the server was asked to purge plans; it does not say what it has deleted"])
    }

    // MARK: watch --since

    @Test(arguments: FakePydioMode.allCases)
    func whatHasHappenedSinceANumberIsToldFirst(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        scene.server.act("mkdir", ["dir": "/", "dirname": "before"], as: "ada")
        let log = try await scene.pydio("changes", "plans", "--json")
        let last = try #require(log.run.objects.last?["last_sequence"] as? Int)
        scene.server.act("mkdir", ["dir": "/", "dirname": "missed"], as: "ada")
        let run = try scene.run([
            "pydio", "watch", "plans", "--since", "\(last)", "--json", "--count", "2", "--poll-interval", "2",
        ])
        #expect(await run.waitFor { $0.contains { $0.contains("/missed") } })
        scene.server.act("mkdir", ["dir": "/", "dirname": "now"], as: "ada")
        #expect(await run.status() == 0)
        let events = run.objects.filter { $0["type"] as? String == "event" }
        #expect(events.map { $0["path"] as? String } == ["/missed", "/now"])
    }

    @Test func withoutALogTheUserIsTold_beforeItWaits() async throws {
        let scene = try await scene()
        scene.server.configure { $0.hasChanges = false }
        let (status, run) = try await scene.pydio("watch", "plans", "--since", "1", "--json")
        #expect(status == 69 && run.output == [])
        #expect(run.errors.first?.contains("does not seem to keep a change log of plans") == true)
    }

    // MARK: Text from servers

    /// The part of the text unfit for terminals that XML can contain.
    private static let hostile = "a\u{85}b\u{9B}31m\u{202E}gpj\u{2028}\u{7F}"

    @Test(arguments: [
        ["search", "plans", "gpj"], ["stat", "0:/\(hostile)", "--hash"], ["quota"],
        ["meta", "0:/\(hostile)", "tags=\(hostile)"],
        ["comments", "0:/\(hostile)", "--add", hostile], ["lock", "0:/\(hostile)"], ["feed", "plans"],
        ["notify", "0:/\(hostile)", "--of", "both"], ["chmod", "600", "0:/\(hostile)"],
        ["cp", "0:/\(hostile)", "team:/"], ["compress", "0:/\(hostile)", "0:/\(hostile).zip"],
    ])
    func noAnswerReachesTheTerminalAsItIs(arguments: [String]) async throws {
        for fault in [nil, FakePydioServer.Fault.errorDocument(Self.hostile), .htmlPage(500), .garbage, .emptyBody] {
            let scene = try await scene(.v8)
            try scene.server.addFile("/" + Self.hostile, Array("hello".utf8))
            scene.server.act("rename", ["file": "/a.txt", "dest": "/b" + Self.hostile], as: "ada")
            #expect(try await scene.pydio("workspaces").status == 0)
            if let fault { scene.server.inject(fault, times: nil, after: 2) }
            let run = try scene.run(["pydio"] + arguments)
            #expect(await run.status() != nil)
            for character in ["\u{85}", "\u{9B}", "\u{2028}", "\u{7F}"] {
                #expect(!run.words.contains(character))
            }
            #expect(!run.errors.contains { $0.contains("\u{202E}") })
        }
    }
}
