import Foundation
import PydioSDK
import PydioSync
import PydioTestSupport
import TestSupport
import Testing

/// Syncs over real sockets.
@Suite(.overSockets)
struct FolderSyncTests {
    @Test(arguments: SyncScene.servers.indices)
    func bothSidesBecomeTheSame_andStaySo(server: Int) async throws {
        let scene = try await SyncScene(SyncScene.servers[server])
        try scene.server.addFile("/docs/there.txt", Array("there".utf8))
        scene.server.addFolder("/empty there")
        try scene.write("here", to: "sub/here é.txt")
        try scene.write("", to: "nothing")
        #expect(try await scene.run().isComplete)
        let tree = [
            "/docs": "folder", "/docs/there.txt": "there", "/empty there": "folder", "/sub": "folder",
            "/sub/here é.txt": "here", "/nothing": "",
        ]
        #expect(scene.localTree == tree && scene.remoteTree == tree)
        #expect(scene.parts.isEmpty)
        _ = scene.takeSteps()
        try await scene.run()
        #expect(scene.takeSteps().isEmpty)

        try scene.write("changed here", to: "docs/there.txt")
        scene.change("/sub/here é.txt", to: "changed there")
        try scene.remove("nothing")
        scene.delete("/empty there")
        #expect(try await scene.run().isComplete)
        #expect(
            scene.takeSteps().sorted() == [
                "deleteLocal empty there", "deleteRemote nothing", "download sub/here é.txt", "upload docs/there.txt",
            ])
        let after = [
            "/docs": "folder", "/docs/there.txt": "changed here", "/sub": "folder", "/sub/here é.txt": "changed there",
        ]
        #expect(scene.localTree == after && scene.remoteTree == after)
    }

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func withALogOnlyWhatHasChangedIsListed(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        for name in ["a/x", "b/x", "c/d/x"] { try scene.server.addFile("/\(name)", Array("old".utf8)) }
        try await scene.run()
        try await scene.run()
        scene.server.forgetRequests()
        try await scene.run()
        #expect(scene.server.count("ls") == 0)
        scene.change("/c/d/x", to: "newish")
        scene.change("/c/d/x", to: "new")
        scene.server.forgetRequests()
        try await scene.run()
        #expect(scene.server.requests("ls").map { $0.parameter("dir") ?? $0.rawPath }.count == 1)
        #expect(scene.text("c/d/x") == "new")
        // The log has started over: everything is listed.
        scene.server.resetChanges()
        scene.change("/a/x", to: "newer")
        scene.server.forgetRequests()
        try await scene.run()
        #expect(scene.server.count("ls") >= 5)
        #expect(scene.text("a/x") == "newer")
    }

    /// The log reveals it by its hash.
    @Test func aChangeOfTheSameSizeInTheSameSecondIsSeen() async throws {
        let scene = try await SyncScene()
        try scene.server.addFile("/a", Array("old".utf8))
        try await scene.run()
        let content = Data("new".utf8).base64EncodedString()
        scene.server.act("put_content", ["file": "/a", "content": content, "encode": "base64"], as: "ada")
        try await scene.run()
        #expect(scene.text("a") == "new")
    }

    @Test(arguments: SyncScene.servers.indices)
    func aFolderInTheWorkspaceIsSynced_andNothingBesideIt(server: Int) async throws {
        let scene = try await SyncScene(SyncScene.servers[server])
        for name in ["in/side/a", "in/b", "inner", "out"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        try await scene.run("/in")
        #expect(scene.localTree == ["/side": "folder", "/side/a": "in/side/a", "/b": "in/b"])
        try scene.write("new", to: "side/c")
        scene.change("/in/side/a", to: "changed")
        scene.change("/out", to: "changed")
        scene.delete("/in/b")
        try await scene.run("/in")
        #expect(scene.localTree == ["/side": "folder", "/side/a": "changed", "/side/c": "new"])
        #expect(scene.remoteText("/in/side/c") == "new" && scene.remoteText("/inner") == "inner")
    }

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func aFolderIsDeletedAsAWhole_andIsInTheBin(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        for name in ["d/e/a", "d/b", "k"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        try await scene.run()
        try scene.remove("d")
        try await scene.run()
        #expect(scene.server.count("delete") == 1)
        #expect(scene.remoteText("/recycle_bin/d/e/a") == "d/e/a" && scene.remoteTree == ["/k": "k"])
    }

    @Test func aFolderThatSomebodyPutsAFileIntoIsNotDeleted() async throws {
        let scene = try await SyncScene()
        for name in ["d/a", "k"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        try await scene.run()
        try scene.remove("d")
        let server = scene.server
        // Between the listing and the deletion.
        server.setGate { request in
            if request.action == "stat", !server.exists("/d/new") { try? server.addFile("/d/new", Array("new".utf8)) }
            return nil
        }
        // The gate runs without a lock, so it may change the server's files.
        try await scene.run { $0.usesChangesFeed = false }
        server.setGate(nil)
        try await scene.run { $0.usesChangesFeed = false }
        #expect(scene.remoteText("/d/new") == "new" && scene.text("d/new") == "new")
    }

    // MARK: Conflicts

    @Test(arguments: SyncScene.servers.indices)
    func whatHasChangedOnBothSidesIsKeptTwice(server: Int) async throws {
        let scene = try await SyncScene(SyncScene.servers[server])
        try scene.server.addFile("/plan.txt", Array("old".utf8))
        try await scene.run()
        try scene.write("mine!", to: "plan.txt")
        scene.change("/plan.txt", to: "theirs")
        #expect(try await scene.run().isComplete)
        #expect(scene.text("plan.txt") == "theirs" && scene.localTree == scene.remoteTree)
        let copies = scene.localTree.filter { $0.key.hasPrefix("/plan (conflict 20") && $0.key.hasSuffix(").txt") }
        #expect(Array(copies.values) == ["mine!"] && scene.localTree.count == 2)
    }

    @Test(arguments: SyncScene.servers.indices, [true, false])
    func theSameContentOnBothSidesIsTakenAsItIs(server: Int, hasHashes: Bool) async throws {
        let scene = try await SyncScene(SyncScene.servers[server])
        try scene.server.addFile("/a", Array("same".utf8))
        try scene.server.addFile("/b", Array("one".utf8))
        try scene.write("same", to: "a")
        try scene.write("two", to: "b")
        if !hasHashes { scene.server.setGate { $0.action == "stat_hash" ? .empty : nil } }
        try await scene.run()
        #expect(scene.server.count("upload") == 1)
        #expect(scene.server.count("download") == (hasHashes ? 1 : 3))
        #expect(scene.localTree == scene.remoteTree && scene.localTree.count == 3)
        #expect(scene.text("a") == "same" && scene.text("b") == "one")
        #expect(scene.parts.isEmpty)
    }

    @Test func aFileInThePlaceOfAFolderIsKeptBesideIt() async throws {
        let scene = try await SyncScene()
        try scene.server.addFile("/x/inside", Array("there".utf8))
        try scene.server.addFile("/y", Array("there".utf8))
        try scene.write("here", to: "x")
        try scene.write("here", to: "y/inside")
        try await scene.run()
        #expect(scene.localTree == scene.remoteTree)
        #expect(scene.text("x/inside") == "there" && scene.text("y") == "there")
        #expect(scene.localTree.filter { $0.value == "here" }.keys.allSatisfy { $0.contains(" (conflict ") })
        #expect(scene.localTree.filter { $0.value == "here" }.count == 2)
    }

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func aFileInThePlaceOfASyncedFolderReplacesIt(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        for name in ["here/a", "there/a"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        try await scene.run()
        try scene.remove("here")
        try scene.write("a file", to: "here")
        scene.delete("/there")
        scene.change("/there", to: "a file")
        #expect(try await scene.run().isComplete)
        #expect(scene.localTree == ["/here": "a file", "/there": "a file"] && scene.localTree == scene.remoteTree)
    }

    // MARK: Names

    /// They look the same, and are equal as Swift strings.
    @Test(arguments: SyncScene.servers.indices)
    func twoSpellingsOfANameAreTwoFiles(server: Int) async throws {
        let scene = try await SyncScene(SyncScene.servers[server])
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        try scene.write("composed, here", to: composed)
        try scene.server.addFile("/\(decomposed)", Array("decomposed, there".utf8))
        for name in [composed, decomposed] { try scene.write("in \(name.utf8.count)", to: "d\(name)/a") }
        for _ in 0..<2 {
            #expect(try await scene.run().isComplete)
            for text in [scene.text, { scene.remoteText("/" + $0) }] {
                #expect(text(composed) == "composed, here" && text(decomposed) == "decomposed, there")
                #expect(text("d\(composed)/a") == "in 5" && text("d\(decomposed)/a") == "in 6")
            }
        }
        #expect(scene.server.paths().filter { !$0.hasPrefix("/recycle_bin") }.count == 6)
        try scene.write("changed", to: decomposed)
        try scene.remove("d\(composed)")
        scene.delete("/\(composed)")
        #expect(try await scene.run().isComplete)
        for text in [scene.text, { scene.remoteText("/" + $0) }] {
            #expect(text(composed) == nil && text(decomposed) == "changed")
            #expect(text("d\(composed)/a") == nil && text("d\(decomposed)/a") == "in 6")
        }
    }

    // MARK: One way

    @Test func oneWayChangesOneSideOnly() async throws {
        let scene = try await SyncScene()
        for name in ["a", "b", "c"] { try scene.server.addFile("/\(name)", Array("old".utf8)) }
        try await scene.run()
        try scene.write("new", to: "a")
        scene.change("/b", to: "newer")
        try scene.write("both", to: "c")
        scene.change("/c", to: "changed")
        let up = try await scene.run { $0.direction = .up }
        #expect(up.refused.map(\.path) == ["c"])
        #expect(scene.remoteTree == ["/a": "new", "/b": "newer", "/c": "changed"])
        #expect(scene.localTree == ["/a": "new", "/b": "old", "/c": "both"])
        #expect(try await scene.run { $0.direction = .down }.isComplete)
        #expect(scene.remoteTree == ["/a": "new", "/b": "newer", "/c": "changed"])
        #expect(scene.text("b") == "newer" && scene.text("c") == "changed" && scene.localTree.count == 4)
    }

    // MARK: Concurrent changes

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func aFileThatChangesWhileItIsUploadedIsUploadedAgain(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        try scene.write("first", to: "a")
        scene.server.inject(.hold, into: "upload")
        async let summary = scene.run()
        #expect(await eventually { scene.server.heldCount == 1 })
        try scene.write("secnd", to: "a")
        scene.server.release()
        #expect(try await summary.isComplete)
        #expect(scene.remoteTree == ["/a": "secnd"])
    }

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func aFileThatSomebodyChangesWhileItIsReplacedIsNotLost(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        try scene.server.addFile("/a", Array("old".utf8))
        try await scene.run()
        try scene.write("mine!", to: "a")
        scene.server.inject(.hold, into: "upload")
        async let summary = scene.run()
        #expect(await eventually { scene.server.heldCount == 1 })
        scene.change("/a", to: "theirs")
        scene.server.release()
        #expect(try await summary.isComplete)
        #expect(scene.text("a") == "theirs" && scene.localTree == scene.remoteTree)
        #expect(Set(scene.localTree.values) == ["theirs", "mine!"])
    }

    @Test func aFileThatComesWhileItIsDownloadedIsNotReplaced() async throws {
        let scene = try await SyncScene()
        try scene.server.addFile("/a", Array("theirs".utf8))
        scene.server.inject(.hold, into: "download")
        async let summary = scene.run()
        #expect(await eventually { scene.server.heldCount == 1 })
        try scene.write("mine", to: "a")
        scene.server.release()
        #expect(try await summary.isComplete)
        #expect(Set(scene.localTree.values) == ["theirs", "mine"] && scene.localTree == scene.remoteTree)
    }

    @Test func aFileThatChangesWhileItIsDownloadedIsDownloadedAgain() async throws {
        let scene = try await SyncScene()
        try scene.server.addFile("/a", Array("first".utf8))
        scene.server.inject(.hold, into: "download")
        async let summary = scene.run()
        #expect(await eventually { scene.server.heldCount == 1 })
        scene.change("/a", to: "second")
        scene.server.release()
        #expect(try await summary.isComplete)
        #expect(scene.localTree == ["/a": "second"])
    }

    // MARK: Modes

    @Test func aReplacedFileKeepsItsMode() async throws {
        let scene = try await SyncScene()
        try scene.server.addFile("/run.sh", Array("old".utf8))
        try await scene.run()
        chmod(scene.local("run.sh").path, 0o755)
        scene.change("/run.sh", to: "newer")
        try await scene.run()
        var status = stat()
        #expect(stat(scene.local("run.sh").path, &status) == 0 && status.st_mode & 0o777 == 0o755)
        #expect(scene.text("run.sh") == "newer" && scene.takeSteps().last == "download run.sh")
    }

    @Test func aFileThatWasOnlyTouchedIsNotTransferred() async throws {
        let scene = try await SyncScene()
        try scene.write("same", to: "a")
        try await scene.run()
        try scene.write("same", to: "a")
        _ = scene.takeSteps()
        try await scene.run()
        #expect(scene.takeSteps().isEmpty && scene.server.count("upload") == 1)
    }
}
