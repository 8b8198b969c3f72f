import Foundation
import PydioTestSupport
import TestSupport
import Testing

@testable import CommandKit

/// `pydio cat`, `restore`, `empty-bin`, `share`, `unshare`, `bookmarks`, `changes`.
@Suite(.overSockets)
struct PydioNodeCommandTests {
    /// A name that would reverse the order of a line.
    private static let hostile = "a\u{202E}b.txt"

    private static func isClean(_ run: CommandRun) -> Bool {
        // Names in a pipe must stay usable as input, so they keep characters that change the writing direction.
        !["\u{1B}", "\u{7}"].contains { run.words.contains($0) }
            && !(run.errors + run.output.filter { $0.hasPrefix("{") }).contains { $0.contains("\u{202E}") }
    }

    @Test(arguments: [
        ["cat"], ["cat", "plans:"], ["cat", "plans:/d/"], ["cat", "plans:/a", "plans:/d/"], ["cat", "a.txt"],
        ["cat", "plans:/a/../b"], ["cat", "-"],
        ["restore"], ["restore", "plans:"], ["restore", "plans:/a", "x"],
        ["empty-bin"], ["empty-bin", "--force"], ["empty-bin", "plans"], ["empty-bin", "plans", "team", "--force"],
        ["share"], ["share", "plans:"], ["share", "plans:/a", "plans:/b"], ["share", "plans:/a", "--expires", "0"],
        ["share", "plans:/a", "--expires", "-1"], ["share", "plans:/a", "--expires", "soon"],
        ["share", "plans:/a", "--expires", "99999999999"], ["share", "plans:/a", "--downloads", "0"],
        ["share", "plans:/a", "--downloads", "99999999999999999999"], ["share", "plans:/a", "--label", " "],
        ["share", "plans:/a", "--no-expiry"], ["share", "plans:/a", "--no-password"],
        ["share", "plans:/a", "--no-download-limit"], ["share", "plans:/a", "--link", "x"],
        ["share", "plans:/a", "--link", "", "--no-expiry"], ["share", "plans:/a", "--link", "a b", "--no-expiry"],
        ["share", "plans:/a", "--link", "x", "--no-expiry", "--expires", "3"],
        ["share", "plans:/a", "--link", "x", "--no-password", "--password-stdin"],
        ["share", "plans:/a", "--link", "x", "--downloads", "3", "--no-download-limit"],
        ["links"], ["links", "plans:"], ["links", "plans"], ["unshare", "plans:/a", "--link", "https://"],
        ["unshare"], ["unshare", "plans:/"], ["unshare", "plans"],
        ["bookmarks", "plans", "--add", "plans:/a"], ["bookmarks", "--add"], ["bookmarks", "--add", "x"],
        ["bookmarks", "--add", "plans:/a", "--remove", "plans:/a"], ["bookmarks", "plans", "team"],
        ["changes"], ["changes", "plans", "--since", "-1"], ["changes", "plans", "--since", "x"],
        ["changes", "plans", "--since", "99999999999999999999"],
    ])
    func wrongUseIsStatus64_beforeAnythingIsSent(arguments: [String]) async throws {
        let scene = try await PydioScene()
        let run = try scene.run(["pydio"] + arguments)
        #expect(await run.status() == 64)
        #expect(run.output == [])
        #expect(scene.server.requests.isEmpty)
    }

    @Test(arguments: [
        ["cat", "nope:/a"], ["restore", "nope:/a"], ["empty-bin", "nope", "--force"], ["share", "nope:/a"],
        ["unshare", "nope:/a"], ["links", "nope:/a"], ["bookmarks", "nope"], ["bookmarks", "--add", "nope:/a"],
        ["bookmarks", "--remove", "nope:/a"], ["changes", "nope"],
    ])
    func anUnknownWorkspaceIsStatus65(arguments: [String]) async throws {
        let scene = try await PydioScene()
        let run = try scene.run(["pydio"] + arguments)
        #expect(await run.status() == 65)
        #expect(run.errors.count == 1 && run.words.contains("there is no workspace “nope”"))
        // The server would answer from the last used workspace.
        #expect(Set(scene.server.requests.map(\.action)).isDisjoint(with: ["stat", "ls", "get_bookmarks", "changes"]))
    }

    @Test(arguments: [
        ["restore", "plans:/recycle_bin/old.txt"], ["empty-bin", "plans", "--force"], ["share", "plans:/a.txt"],
        ["unshare", "plans:/a.txt"],
    ])
    func whoMayNotWriteIsToldSo(arguments: [String]) async throws {
        let rights = FakePydioUser(id: "ada", password: PydioScene.password, rights: ["0": .read])
        let scene = try await PydioScene(FakePydioServer.Configuration(users: [rights]))
        try scene.server.addFile("/a.txt")
        try scene.server.addFile("/recycle_bin/old.txt")
        scene.server.act("share", ["file": "/a.txt"], as: "ada")
        let run = try scene.run(["pydio"] + arguments)
        #expect(await run.status() != 0)
        #expect(run.output == [])
        #expect(run.errors.count == 1)
        #expect(scene.server.exists("/recycle_bin/old.txt"))
    }

    // MARK: cat

    @Test func filesAreWrittenByteForByte_oneAfterTheOther() async throws {
        let scene = try await PydioScene()
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
        try scene.server.addFile("/bytes", bytes)
        try scene.server.addFile("/empty")
        try scene.server.addFile("/b.txt", Array("b without a line's end".utf8), in: FakePydioWorkspace.teamID)
        let file = try scene.write("", to: "out")
        let run = try CommandRun(
            ["pydio", "cat", "plans:/bytes", "plans:/empty", "team:/b.txt", "plans:/bytes"],
            environment: scene.environment, outputFile: file.path)
        #expect(await run.status() == 0)
        #expect(run.errors == [])
        #expect(try [UInt8](Data(contentsOf: file)) == bytes + Array("b without a line's end".utf8) + bytes)
    }

    @Test func aFolderIsWrongUse_andTheOthersAreWritten() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/d/a.txt", Array("a\n".utf8))
        let (status, run) = try await scene.pydio("cat", "plans:/d", "plans:/d/a.txt")
        #expect(status == 64)
        #expect(run.output == ["a"])
        #expect(run.errors == ["error: plans:/d is a folder: cat takes files"])
    }

    @Test func allAreTried_andTheStatusIsThatOfTheWorst() async throws {
        let scene = try await PydioScene()
        for name in ["a", "b", "c"] { try scene.server.addFile("/\(name)", Array("\(name)\n".utf8)) }
        scene.server.inject(.htmlPage(500), into: "download", times: 1)
        let (status, run) = try await scene.pydio("cat", "plans:/none", "plans:/a", "nope:/x", "plans:/b", "plans:/c")
        #expect(status == 69)
        #expect(run.output == ["b", "c"])
        #expect(run.errors.count == 3)
        #expect(run.errors.first == "error: there is no plans:/none")
        #expect(run.errors.dropFirst().first?.hasPrefix("error: plans:/a: ") == true)
        #expect(run.errors.last?.hasPrefix("error: nope:/x: there is no workspace") == true)
    }

    @Test func nothingIsWrittenOfAFileThatBreaksOff() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a", [UInt8](repeating: 65, count: 100_000))
        try scene.server.addFile("/b", Array("b\n".utf8))
        scene.server.inject(.errorDocument("Broken"), into: "download")
        let (status, run) = try await scene.pydio("cat", "plans:/a", "plans:/b")
        #expect(status == 65)
        #expect(run.output == ["b"])
    }

    @Test func whoReadsNoMoreEndsIt() async throws {
        let scene = try await PydioScene()
        for name in ["a", "b", "c"] {
            try scene.server.addFile("/\(name)", [UInt8](repeating: 65, count: 200_000))
        }
        let run = try scene.run(["pydio", "cat", "plans:/a", "plans:/b", "plans:/c"], closesOutput: true)
        #expect(await run.status() == 0)
        #expect(run.errors == [])
        #expect(scene.server.count("download") == 1)
    }

    // MARK: restore

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func whatWasDeletedComesBack_andItIsToldWhereTo(mode: FakePydioMode) async throws {
        let scene = try await PydioScene(FakePydioServer.Configuration(mode: mode))
        for name in ["docs/a.txt", "docs/b.txt", "e/c"] { try scene.server.addFile("/\(name)") }
        for path in ["/docs/a.txt", "/docs/b.txt", "/e"] {
            #expect(try await scene.pydio("rm", "-r", "plans:\(path)").status == 0)
        }
        let text = try await scene.pydio("restore", "plans:/recycle_bin/a.txt", "plans:/e")
        #expect(text.status == 0)
        #expect(text.run.errors == [])
        #expect(
            text.run.output == [
                "plans:/recycle_bin/a.txt -> plans:/docs/a.txt", "plans:/recycle_bin/e -> plans:/e",
            ])
        let (status, run) = try await scene.pydio("restore", "plans:/docs/b.txt", "--json")
        #expect(status == 0)
        #expect(run.objects.map { $0["type"] as? String } == ["restored"])
        #expect(run.objects.map { $0["path"] as? String } == ["/docs/b.txt"])
        #expect(run.objects.map { $0["from"] as? String } == ["/recycle_bin/b.txt"])
        #expect(scene.server.paths() == ["/docs", "/docs/a.txt", "/docs/b.txt", "/e", "/e/c"])
    }

    @Test func aNameIsNeverGuessed() async throws {
        let scene = try await PydioScene()
        for name in ["a.txt", "a-1.txt", "b-2.txt", "c.txt", "c-d.txt", "docs/x"] {
            try scene.server.addFile("/recycle_bin/\(name)")
        }
        let before = scene.server.paths()
        let (status, run) = try await scene.pydio(
            "restore", "plans:/a.txt", "plans:/b.txt", "plans:/none", "plans:/recycle_bin/none",
            "plans:/recycle_bin/docs/x", "plans:/recycle_bin", "team:/a.txt")
        #expect(status == 65)
        #expect(run.output == [])
        #expect(
            run.errors == [
                "error: plans:/a.txt: 2 in the recycle bin may have been called “a.txt”: "
                    + "give plans:/recycle_bin/a-1.txt or plans:/recycle_bin/a.txt",
                "error: plans:/b.txt: nothing in the recycle bin is called “b.txt”; it may be plans:/recycle_bin/b-2.txt",
                "error: plans:/none: nothing in the recycle bin is called “none”",
                "error: there is no plans:/recycle_bin/none",
                "error: plans:/recycle_bin/docs/x was deleted with the folder that it is in: "
                    + "restore plans:/recycle_bin/docs",
                "error: plans:/recycle_bin is the recycle bin itself: name something in it",
                "error: team:/a.txt: the workspace team has no recycle bin",
            ])
        #expect(scene.server.count("restore") == 0 && scene.server.paths() == before)
        // A failure does not prevent the others from being restored.
        let mixed = try await scene.pydio("restore", "plans:/none", "plans:/c.txt", "plans:/c.txt")
        #expect(mixed.status == 65)
        #expect(mixed.run.output == ["plans:/recycle_bin/c.txt -> plans:/c.txt"])
        #expect(mixed.run.errors.count == 2)
    }

    @Test func aServerThatDoesNothingIsNotBelieved() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/recycle_bin/a.txt")
        scene.server.inject(.emptyBody, into: "restore")
        let (status, run) = try await scene.pydio("restore", "plans:/a.txt")
        #expect(status == 69)
        #expect(run.output == [] && run.errors.count == 1 && run.words.contains("plans:/a.txt"))
    }

    @Test func hostileNamesAreEscaped_wherePeopleReadThem() async throws {
        let scene = try await PydioScene()
        let name = Self.hostile
        try scene.server.addFile("/recycle_bin/\(name)", Array("hello".utf8))
        let restored = try await scene.pydio("restore", "plans:/\(name)")
        #expect(restored.status == 0 && restored.run.output.count == 1 && Self.isClean(restored.run))
        #expect(scene.server.exists("/\(name)"))
        let missing = try await scene.pydio("cat", "plans:/none\(name)", "plans:/\(name)/")
        #expect(missing.status == 64 && Self.isClean(missing.run))
        let cat = try await scene.pydio("cat", "plans:/\(name)")
        #expect(cat.run.output == ["hello"])
        #expect(try await scene.pydio("bookmarks", "--add", "plans:/\(name)").status == 0)
        let bookmarks = try await scene.pydio("bookmarks")
        #expect(bookmarks.run.output.count == 1 && Self.isClean(bookmarks.run))
        #expect(bookmarks.run.output.first?.contains("\u{202E}") == name.contains("\u{202E}"))
        let json = try await scene.pydio("bookmarks", "--json")
        #expect(json.run.objects.map { $0["path"] as? String } == ["/\(name)"] && Self.isClean(json.run))
        let unshared = try await scene.pydio("unshare", "plans:/\(name)")
        #expect(unshared.status == 65 && Self.isClean(unshared.run))
        let changes = try await scene.pydio("changes", "plans")
        #expect(changes.status == 0 && !changes.run.output.isEmpty, "\(changes.run.errors)")
        #expect(Self.isClean(changes.run))
        #expect(try await scene.pydio("rm", "plans:/\(name)").status == 0)
        let emptied = try await scene.pydio("empty-bin", "plans", "--force", "--json")
        #expect(emptied.run.objects.map { $0["path"] as? String } == ["/recycle_bin/\(name)"])
        #expect(Self.isClean(emptied.run))
    }

    // MARK: empty-bin, rm in the bin

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func theBinIsEmptied_andNothingElse(mode: FakePydioMode) async throws {
        let scene = try await PydioScene(FakePydioServer.Configuration(mode: mode))
        for name in ["a", "recycle_bin/b", "recycle_bin/d/c"] { try scene.server.addFile("/\(name)") }
        let (status, run) = try await scene.pydio("empty-bin", "plans", "--force", "--json")
        #expect(status == 0)
        #expect(run.objects.map { $0["type"] as? String } == ["removed", "removed"])
        #expect(run.objects.map { $0["path"] as? String } == ["/recycle_bin/d", "/recycle_bin/b"])
        #expect(scene.server.paths() == ["/a"])
        let again = try await scene.pydio("empty-bin", "plans", "--force")
        #expect(again.status == 0)
        #expect(again.run.output == [] && again.run.errors == ["the recycle bin of plans is empty"])
        let none = try await scene.pydio("empty-bin", "team", "--force")
        #expect(none.status == 65)
        #expect(none.run.errors == ["error: the workspace team has no recycle bin"])
    }

    @Test func atATerminalItAsks_andOnlyYesIsYes() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/recycle_bin/a")
        for answer in ["\n", "n\n", "\u{3}"] {
            let run = try CommandRun(
                ["pydio", "empty-bin", "plans"], environment: scene.environment, isAtTerminal: true)
            #expect(
                await run.waitFor { $0.joined().contains("Delete the 1 entry in the recycle bin of plans for good?") })
            try run.type(answer)
            #expect(await run.status() == (answer == "\u{3}" ? 130 : 0))
            #expect(run.words.contains(answer == "\u{3}" ? "interrupted: nothing is deleted" : "nothing is deleted"))
            #expect(scene.server.exists("/recycle_bin/a"))
        }
        try scene.server.addFile("/recycle_bin/b")
        let run = try CommandRun(["pydio", "empty-bin", "plans"], environment: scene.environment, isAtTerminal: true)
        #expect(await run.waitFor { $0.joined().contains("Delete all 2 entries") })
        try run.type("Yes\n")
        #expect(await run.status() == 0)
        #expect(scene.server.paths() == [])
    }

    @Test func whatIsInTheBinIsRemovedForGood_besideOthersThatGoThere() async throws {
        let scene = try await PydioScene()
        for name in ["a", "recycle_bin/b", "recycle_bin/d/c"] { try scene.server.addFile("/\(name)") }
        let (status, run) = try await scene.pydio(
            "rm", "-r", "plans:/recycle_bin/b", "plans:/a", "plans:/recycle_bin/d/c", "--json")
        #expect(status == 0)
        #expect(run.objects.compactMap { $0["path"] as? String } == ["/a", "/recycle_bin/b", "/recycle_bin/d/c"])
        #expect(scene.server.paths() == ["/recycle_bin", "/recycle_bin/a", "/recycle_bin/d"])
    }

    // MARK: share, unshare

    @Test func aLinkIsPrintedAlone() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/plan.pdf")
        let (status, run) = try await scene.pydio("share", "plans:/plan.pdf")
        #expect(status == 0)
        #expect(run.errors == [])
        #expect(run.output.count == 1)
        #expect(run.output.first?.hasPrefix("\(scene.server.address)/public/") == true)
        let request = try #require(scene.server.requests("share").last)
        #expect(request.parameter("repo_label") == "plan.pdf" && request.parameter("expiration") == nil)
    }

    @Test func aLinkHasWhatWasAskedFor_andThePasswordIsNowhere() async throws {
        let scene = try await PydioScene()
        scene.server.addFolder("/docs")
        let (status, run) = try await scene.pydio(
            "share", "plans:/docs", "--password-stdin", "--expires", "7", "--downloads", "3", "--label", "Our \"docs\"",
            "--json", input: "tellnobody\n")
        #expect(status == 0)
        let link = try #require(run.objects.first)
        #expect(link["type"] as? String == "shared" && link["path"] as? String == "/docs")
        #expect(link["workspace_id"] as? String == "0" && link["label"] as? String == "Our \"docs\"")
        #expect(link["expires_days"] as? Int == 7 && link["downloads"] as? Int == 3)
        #expect(link["has_password"] as? Bool == true)
        #expect((link["url"] as? String)?.contains("/public/") == true)
        #expect(!run.words.contains("tellnobody"))
        let request = try #require(scene.server.requests("share").last)
        #expect(
            request.parameter("guest_user_pass") == "tellnobody" && request.parameter("repo_label") == "Our \"docs\"")
        #expect(request.parameter("expiration") == "7" && request.parameter("downloadlimit") == "3")
        scene.server.inject(.errorDocument("No: tellnobody"), into: "share", times: 2)
        let refused = try await scene.pydio("share", "plans:/docs", "--password-stdin", input: "tellnobody")
        #expect(refused.status == 65)
        #expect(refused.run.output == [] && refused.run.errors == ["error: plans:/docs: the server says: No: …"])
        let empty = try await scene.pydio("share", "plans:/docs", "--password-stdin", input: "\n")
        #expect(empty.status == 65)
        #expect(empty.run.errors == ["error: standard input is empty, but must hold the password"])
    }

    @Test func whatIsNoLinkIsNotPrinted() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a")
        let none = try await scene.pydio("share", "plans:/none")
        #expect(none.status == 65)
        #expect(none.run.errors == ["error: there is no plans:/none"])
        for answer in ["103", "", "file:///etc/passwd", "https://example.org/\u{1B}[2J", "<html>"] {
            scene.server.setGate { $0.action == "share" ? .text(answer) : nil }
            let (status, run) = try await scene.pydio("share", "plans:/a")
            #expect(status == (answer == "103" ? 65 : 69))
            #expect(run.output == [] && run.errors.count == 1 && Self.isClean(run))
        }
    }

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func sharingEnds_withAllLinks(mode: FakePydioMode) async throws {
        let scene = try await PydioScene(FakePydioServer.Configuration(mode: mode))
        try scene.server.addFile("/a")
        for _ in 1...3 { #expect(try await scene.pydio("share", "plans:/a").status == 0) }
        #expect(scene.server.shareCount(of: "/a") == 3)
        let (status, run) = try await scene.pydio("unshare", "plans:/a", "--json")
        #expect(status == 0)
        #expect(run.objects.map { $0["type"] as? String } == ["unshared"])
        #expect(run.objects.map { $0["path"] as? String } == ["/a"])
        #expect(scene.server.shareCount(of: "/a") == 0)
        let none = try await scene.pydio("unshare", "plans:/none")
        #expect(none.status == 65)
        #expect(none.run.errors == ["error: there is no plans:/none"])
        if mode == .v5_2 {
            let again = try await scene.pydio("unshare", "plans:/a")
            #expect(again.status == 65)
            #expect(again.run.errors == ["error: plans:/a is not shared"])
        }
    }

    @Test func aServerThatEndsNoSharingIsNotBelieved() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a")
        scene.server.act("share", ["file": "/a"], as: "ada")
        scene.server.inject(.emptyBody, into: "unshare", times: nil)
        let (status, run) = try await scene.pydio("unshare", "plans:/a")
        #expect(status == 69)
        #expect(run.errors == ["error: plans:/a is still shared: the server does not end it"])
    }

    // MARK: links

    @Test(arguments: FakePydioMode.allCases)
    func linksAreListed_changed_andEndedOneByOne(mode: FakePydioMode) async throws {
        let scene = try await PydioScene(FakePydioServer.Configuration(mode: mode))
        try scene.server.addFile("/a")
        let made = try await scene.pydio(
            "share", "plans:/a", "--password-stdin", "--expires", "7", "--downloads", "3", "--label", "Our plan",
            input: "tellnobody")
        let address = try #require(made.run.output.first)
        let (status, listed) = try await scene.pydio("links", "plans:/a")
        #expect(status == 0)
        #expect(listed.output == ["\(address)  password  expires in 7 days  0 of 3 downloads  Our plan"])
        let json = try await scene.pydio("links", "plans:/a", "--json")
        let link = try #require(json.run.objects.first)
        #expect(link["type"] as? String == "link" && link["url"] as? String == address)
        #expect(link["expires_days"] as? Int == 7 && link["downloads"] as? Int == 3)
        #expect(link["has_password"] as? Bool == true && link["expired"] as? Bool == false)

        let changed = try await scene.pydio(
            "share", "plans:/a", "--link", address, "--no-password", "--expires", "30", "--json")
        #expect(changed.status == 0, "\(changed.run.errors)")
        #expect(changed.run.objects.first?["url"] as? String == address)
        #expect(changed.run.objects.first?["expires_days"] as? Int == 30)
        #expect(changed.run.objects.first?["has_password"] as? Bool == false)
        let again = try await scene.pydio(
            "share", "plans:/a", "--link", address, "--password-stdin", input: "tellnobody")
        #expect(again.status == 0 && again.run.output == [address])
        #expect(scene.server.publicLinks(of: "/a").first?.password == "tellnobody")
        for run in [made.run, listed, json.run, changed.run, again.run] { #expect(!run.words.contains("tellnobody")) }

        let other = try await scene.pydio("share", "plans:/a")
        let id = try #require(scene.server.publicLinks(of: "/a").first?.id)
        let ended = try await scene.pydio("unshare", "plans:/a", "--link", id, "--json")
        #expect(ended.status == 0)
        #expect(ended.run.objects.map { $0["type"] as? String } == ["unshared"])
        let left = try #require(other.run.output.first?.split(separator: "/").last)
        #expect(scene.server.publicLinks(of: "/a").map(\.id) == [String(left)])
        let gone = try await scene.pydio("unshare", "plans:/a", "--link", address)
        #expect(gone.status == 65)
        #expect(scene.server.shareCount(of: "/a") == 1)
    }

    @Test func whatAnOldServerCannotDoIsSaid_beforeAnythingIsChanged() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a")
        let address = try #require(try await scene.pydio("share", "plans:/a", "--expires", "7").run.output.first)
        let (status, run) = try await scene.pydio(
            "share", "plans:/a", "--link", address, "--no-expiry", "--label", "New")
        #expect(status == 69)
        #expect(
            run.errors == [
                "error: plans:/a: servers before version 7 cannot remove a link's expiry or its limit of downloads; "
                    + "nothing was changed"
            ])
        #expect(scene.server.count("share") == 1 && scene.server.publicLinks(of: "/a").first?.label == "a")
    }

    @Test func linksOfAHostileServerAreHarmless() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/\(Self.hostile)")
        scene.server.setGate { request in
            guard request.action == "load_shared_element_data" else { return nil }
            return .text(
                #"{"repositoryId":"r","label":"\u001b[2J\u202Ex","entries":[],"minisite":{"hash":"\u0007h","public_link":"x"}}"#,
                type: "application/json")
        }
        let (status, run) = try await scene.pydio("links", "plans:/\(Self.hostile)")
        #expect(status == 0 && run.output.count == 1 && Self.isClean(run))
        let json = try await scene.pydio("links", "plans:/\(Self.hostile)", "--json")
        #expect(json.status == 0 && json.run.objects.count == 1 && Self.isClean(json.run))
    }

    // MARK: bookmarks

    @Test func bookmarksAreAddedListedAndRemoved() async throws {
        let scene = try await PydioScene()
        scene.server.addFolder("/docs")
        try scene.server.addFile("/plan.pdf", in: FakePydioWorkspace.teamID)
        let added = try await scene.pydio(
            "bookmarks", "--add", "plans:/docs", "--add", "team:/plan.pdf", "--add", "plans:/none", "--add", "plans:",
            "--json")
        #expect(added.status == 65)
        #expect(added.run.objects.map { $0["type"] as? String } == ["bookmarked", "bookmarked", "bookmarked"])
        #expect(added.run.errors == ["error: there is no plans:/none"])
        let all = try await scene.pydio("bookmarks")
        #expect(all.status == 0)
        #expect(all.run.output == ["plans:/docs  docs", "plans:/  Plans", "team:/plan.pdf  plan.pdf"])
        let one = try await scene.pydio("bookmarks", "Team", "--json")
        #expect(one.run.objects.map { $0["path"] as? String } == ["/plan.pdf"])
        #expect(one.run.objects.map { $0["title"] as? String } == ["plan.pdf"])
        #expect(one.run.objects.map { $0["type"] as? String } == ["bookmark"])
        // Also for nodes that are gone.
        scene.server.remove("/docs")
        let removed = try await scene.pydio("bookmarks", "--remove", "plans:/other", "--remove", "plans:/docs")
        #expect(removed.status == 65)
        #expect(removed.run.errors == ["error: there is no bookmark of plans:/other"])
        #expect(try await scene.pydio("bookmarks", "plans").run.output == ["plans:/  Plans"])
    }

    @Test func aWorkspaceThatFailsIsTold_andTheOthersAreListed() async throws {
        let scene = try await PydioScene()
        scene.server.addFolder("/d")
        #expect(try await scene.pydio("bookmarks", "--add", "plans:/d").status == 0)
        scene.server.inject(.errorDocument("Not here"), into: "get_bookmarks", times: 1, after: 1)
        let (status, run) = try await scene.pydio("bookmarks")
        #expect(status == 65)
        #expect(run.output == ["plans:/d  d"])
        #expect(run.errors == ["error: my-files: the server says: Not here"])
    }

    // MARK: changes

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func changesAreTold_andWhereToGoOnFrom(mode: FakePydioMode) async throws {
        let scene = try await PydioScene(FakePydioServer.Configuration(mode: mode))
        scene.server.addFolder("/docs")
        try scene.server.addFile("/a.txt", Array("hello".utf8))
        scene.server.act("mkdir", ["dir": "/", "dirname": "new"], as: "ada")
        scene.server.act("rename", ["file": "/a.txt", "filename_new": "b.txt"], as: "ada")
        scene.server.act("delete", ["nodes[]": "/docs"], as: "ada")
        let text = try await scene.pydio("changes", "plans")
        #expect(text.status == 0)
        #expect(text.run.output == ["1  created  /new", "2  moved  /a.txt -> /b.txt", "3  deleted  /docs"])
        #expect(text.run.errors == ["last sequence: 3"])
        let (status, run) = try await scene.pydio("changes", "plans", "--since", "1", "--json")
        #expect(status == 0)
        #expect(run.errors == [])
        let objects = run.objects
        #expect(objects.map { $0["type"] as? String } == ["change", "change", "end"])
        #expect(objects.map { $0["sequence"] as? Int } == [2, 3, nil])
        #expect(objects.map { $0["change"] as? String } == ["moved", "deleted", nil])
        #expect(objects.map { $0["path"] as? String } == ["/b.txt", "/docs", nil])
        #expect(objects.map { $0["original_path"] as? String } == ["/a.txt", nil, nil])
        #expect(objects.first?["size"] as? Int == 5 && objects.first?["kind"] as? String == "file")
        #expect(objects.last?["last_sequence"] as? Int == 3 && objects.last?["reset"] == nil)
        let nothing = try await scene.pydio("changes", "plans", "--since", "3")
        #expect(nothing.run.output == [] && nothing.run.errors == ["last sequence: 3"])
        scene.server.resetChanges()
        let reset = try await scene.pydio("changes", "plans", "--since", "3", "--json")
        #expect(reset.status == 0)
        #expect(reset.run.objects.map { $0["reset"] as? Bool } == [true])
    }

    @Test func aLogThatIsNotReadToItsEndTellsNoNumber() async throws {
        var configuration = FakePydioServer.Configuration()
        configuration.hasChanges = false
        let scene = try await PydioScene(configuration)
        let none = try await scene.pydio("changes", "plans")
        #expect(none.status == 69)
        let words = "error: the server does not seem to keep a change log of plans"
        #expect(none.run.errors.first?.hasPrefix(words) == true)
        scene.server.configure { $0.hasChanges = true }
        scene.server.act("mkdir", ["dir": "/", "dirname": "new"], as: "ada")
        scene.server.inject(.truncated, into: "changes")
        let half = try await scene.pydio("changes", "plans", "--json")
        #expect(half.status == 69)
        #expect(half.run.output == [] && !half.run.words.contains("last"))
        let unread = try scene.run(["pydio", "changes", "plans"], closesOutput: true)
        #expect(await unread.status() == 0)
        #expect(unread.errors == [])
    }
}
