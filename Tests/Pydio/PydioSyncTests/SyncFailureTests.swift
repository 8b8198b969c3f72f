import Foundation
import PydioSDK
import PydioSync
import PydioTestSupport
import TestSupport
import Testing

/// Failures of a sync, none of which loses data.
@Suite(.overSockets)
struct SyncFailureTests {
    // MARK: Lost servers

    /// Changes of all kinds on both sides, two of them to files that are uploaded in parts.
    private static func makeChanges(_ scene: SyncScene) throws {
        try scene.write("new here", to: "sub/new")
        try scene.write(String(repeating: "replaced ", count: 30), to: "large.txt")
        try scene.write("replaced", to: "small.txt")
        try scene.write("", to: "was something")
        try scene.remove("gone here")
        scene.delete("/gone there")
        scene.change("/changed there", to: "changed")
        try scene.write("mine!", to: "both")
        scene.change("/both", to: "theirs")
    }

    private static let names = [
        "large.txt", "small.txt", "was something", "gone here", "gone there", "changed there", "both",
    ]

    private static func check(_ scene: SyncScene, request: Int) {
        let expected = [
            "/sub": "folder", "/sub/new": "new here", "/large.txt": String(repeating: "replaced ", count: 30),
            "/small.txt": "replaced", "/was something": "", "/changed there": "changed", "/both": "theirs",
        ]
        var found = scene.localTree
        let copies = found.filter { $0.key.hasPrefix("/both (conflict ") }
        for copy in copies.keys { found[copy] = nil }
        #expect(Array(copies.values) == ["mine!"], "request \(request)")
        #expect(found == expected, "request \(request)")
        #expect(scene.remoteTree == scene.localTree, "request \(request)")
        #expect(scene.parts.isEmpty, "request \(request)")
    }

    /// As if the process is killed: nothing is cleaned up before the next run.
    @Test(arguments: [0, 3], [true, false])
    func aServerThatIsLostAtAnyRequestLosesNothing(server: Int, isAnswerLost: Bool) async throws {
        // Every third request, with a random start.
        var (request, isDone) = (Int.random(in: 0..<3), false)
        while !isDone, request < 200 {
            let scene = try await SyncScene(SyncScene.servers[server]) { $0.uploadPartSize = 100 }
            for name in Self.names { try scene.server.addFile("/\(name)", Array("old \(name)".utf8)) }
            try await scene.run()
            try Self.makeChanges(scene)
            if isAnswerLost {
                // This request is carried out, those after it are not.
                scene.server.inject(.cut(after: 0), times: 1, after: request)
                scene.server.inject(.drop, times: nil, after: request)
            } else {
                scene.server.inject(.drop, times: nil, after: request)
            }
            isDone = await failure { try await scene.run() } == nil
            scene.server.clearFaults()
            try await scene.run()
            Self.check(scene, request: request)
            scene.server.forgetRequests()
            _ = scene.takeSteps()
            try await scene.run()
            #expect(scene.takeSteps().isEmpty, "request \(request)")
            await scene.server.stop()
            request += 3
        }
        #expect(isDone && request > 20)
    }

    /// An upload whose success the run did not learn of is not a change by others.
    @Test(arguments: [0, 3])
    func anUploadWhoseAnswerIsLostIsNoConflict(server: Int) async throws {
        var (request, isDone) = (0, false)
        while !isDone, request < 100 {
            let scene = try await SyncScene(SyncScene.servers[server])
            try scene.server.addFile("/a", Array("old".utf8))
            try await scene.run()
            try scene.write("first change", to: "a")
            try scene.write("first", to: "new")
            scene.server.inject(.cut(after: 0), times: 1, after: request)
            scene.server.inject(.drop, times: nil, after: request)
            isDone = await failure { try await scene.run() } == nil
            scene.server.clearFaults()
            try scene.write("changed again", to: "a")
            try scene.write("changed", to: "new")
            try await scene.run()
            #expect(scene.remoteTree == ["/a": "changed again", "/new": "changed"], "request \(request)")
            #expect(scene.localTree == scene.remoteTree)
            await scene.server.stop()
            request += 1
        }
        #expect(isDone)
    }

    @Test func aSyncThatIsCancelledCleansUpAfterItself() async throws {
        let scene = try await SyncScene { $0.uploadPartSize = 100 }
        try scene.server.addFile("/large.txt", Array("old".utf8))
        try await scene.run()
        try scene.write(String(repeating: "new ", count: 100), to: "large.txt")
        scene.server.inject(.silence, into: "upload", after: 2)
        let task = Task { try await scene.run() }
        #expect(await eventually { scene.server.count("upload") == 3 })
        task.cancel()
        #expect(await failure { _ = try await task.value }?.code == .cancelled)
        #expect(scene.remoteTree == ["/large.txt": "old"])
        try await scene.run()
        #expect(scene.remoteTree == scene.localTree)
    }

    /// A killed process cleans nothing up, and the temporary names go with the folder.
    @Test(arguments: SyncScene.servers.indices, [true, false])
    func whatAKilledUploadHasLeftIsCleanedUpWhereverItsFolderIs(server: Int, isTold: Bool) async throws {
        // Every second request, with a random start.
        var (request, isDone) = (Int.random(in: 0..<2), false)
        while !isDone, request < 60 {
            let scene = try await SyncScene(SyncScene.servers[server]) { $0.uploadPartSize = 100 }
            for name in ["d/e/large.txt", "k"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
            try await scene.run()
            try scene.write(String(repeating: "new ", count: 70), to: "d/e/large.txt")
            scene.server.inject(.drop, times: nil, after: request)
            isDone = await failure { try await scene.run() } == nil
            scene.server.clearFaults()
            if isTold {
                scene.server.act("rename", ["file": "/d", "dest": "/moved"], as: "ada")
            } else {
                scene.server.move("/d", to: "/moved")
            }
            try await scene.run { $0.fullListingInterval = .zero }
            try await scene.run { $0.fullListingInterval = .zero }
            #expect(scene.server.paths().filter { $0.contains("pydio-sync-") } == [], "request \(request)")
            #expect(scene.localTree == scene.remoteTree, "request \(request)")
            #expect(scene.localTree["/moved/e/large.txt"] != nil, "request \(request)")
            await scene.server.stop()
            request += 2
        }
        #expect(isDone && request > 10)
    }

    // MARK: Refusals

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func oneThatIsRefusedIsTold_andTheRestIsSynced(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        try scene.write("a", to: "a")
        try scene.write("b", to: "b")
        scene.server.inject(.errorDocument("Quota exceeded"), into: "rename")
        let summary = try await scene.run()
        #expect(summary.refused.map(\.path) == ["a"])
        #expect(summary.refused.first?.message.contains("Quota exceeded") == true)
        #expect(scene.remoteTree == ["/b": "b"])
        #expect(try await scene.run().isComplete)
        #expect(scene.remoteTree == ["/a": "a", "/b": "b"])
    }

    @Test func aUserWhoMayOnlyReadIsToldForEachFile() async throws {
        let scene = try await SyncScene()
        let params = ServersParamsManager()
        params.setUser(User(userid: "bob", password: "pässwörd"), forServer: scene.server.url)
        var options = PydioClientOptions()
        options.proxy = ""
        let client = PydioClient(server: scene.server.url, params: params, options: options)
        try scene.server.addFile("/there", Array("there".utf8))
        try scene.write("here", to: "here")
        try scene.write("x", to: "d/x")
        let sync = PydioFolderSync(client: client, workspaceId: "0", localFolder: scene.folder, account: "bob")
        let summary = try await sync.run()
        #expect(Set(summary.refused.map(\.path)) == ["here", "d"])
        #expect(scene.text("there") == "there" && scene.remoteTree == ["/there": "there"])
    }

    @Test func linksAndHiddenNamesAreLeftOut() async throws {
        let scene = try await SyncScene()
        let outside = scene.folder.deletingLastPathComponent().appending(path: "outside-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: outside, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: outside) }
        try scene.server.addFile("/link/x", Array("x".utf8))
        try FileManager.default.createSymbolicLink(at: scene.local("link"), withDestinationURL: outside)
        try scene.write("hidden", to: ".hidden")
        try scene.write("good", to: "good")
        let summary = try await scene.run()
        #expect(Set(summary.refused.map(\.path)) == ["link", ".hidden"])
        #expect(scene.remoteTree == ["/link": "folder", "/link/x": "x", "/good": "good"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
    }

    @Test func aNameThatIsNoTextIsTold() async throws {
        let scene = try await SyncScene()
        try scene.write("x", to: "d/x")
        let path: [CChar] = Array((scene.folder.path + "/d/").utf8.map { CChar(bitPattern: $0) }) + [-1, 0]
        let file = open(path, O_CREAT | O_WRONLY, 0o600)
        #expect(file >= 0)
        close(file)
        let summary = try await scene.run()
        #expect(summary.refused.count == 1 && summary.refused.first?.message.contains("UTF-8") == true)
        #expect(scene.remoteTree == ["/d": "folder", "/d/x": "x"])
    }

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func aFolderThatCannotBeListedIsNotTakenForEmpty(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        for name in ["d/a", "d/e/b", "k"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        try await scene.run()
        scene.change("/d/a", to: "changed")
        scene.server.inject(.errorDocument("Error while trying to open directory"), into: "ls", after: 0)
        let summary = try await scene.run()
        #expect(summary.refused.map(\.path) == ["d"])
        #expect(scene.text("d/a") == "d/a" && scene.text("d/e/b") == "d/e/b")
        #expect(try await scene.run().isComplete)
        #expect(scene.text("d/a") == "changed" && scene.localTree == scene.remoteTree)
    }

    // MARK: Fatal failures

    @Test(arguments: [FakePydioMode.v5_2, .v8], ["empty", "page", "half"])
    func anAnswerThatIsNoListingDeletesNothing(mode: FakePydioMode, kind: String) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        for name in ["a", "d/b"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        try await scene.run { $0.usesChangesFeed = false }
        let tree = scene.localTree
        let fault: FakePydioServer.Fault =
            switch kind {
            case "empty": .emptyBody
            case "page": .htmlPage()
            case _: .truncated
            }
        scene.server.inject(fault, into: "ls", times: nil)
        let error = await failure { try await scene.run { $0.usesChangesFeed = false } }
        #expect(error != nil && error?.code != .cancelled)
        #expect(scene.localTree == tree && scene.remoteTree == tree)
    }

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func aWorkspaceThatIsGoneIsNotTakenForEmpty(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        try scene.server.addFile("/a", Array("a".utf8))
        try await scene.run()
        scene.server.configure { $0.workspaces.removeAll { $0.id == "0" } }
        #expect(await failure { try await scene.run() }?.code == .invalidArgument)
        #expect(scene.localTree == ["/a": "a"])
    }

    @Test func aFolderThatIsNotThereIsTold() async throws {
        let scene = try await SyncScene()
        #expect(await failure { try await scene.run("/none") }?.code == .file)
        #expect(await failure { try await scene.run("/recycle_bin/x") }?.code == .invalidArgument)
        let none = PydioFolderSync(
            client: scene.client, workspaceId: "0", localFolder: scene.local("none"), account: "ada")
        #expect(await failure { _ = try await none.run() }?.code == .file)
        #expect(scene.localTree.isEmpty)
    }

    @Test(arguments: [
        "/../../escaped", "/..", "/.", "/a/b", "../escaped", "/../\u{301}escaped",
    ])
    func whatIsListedWhereItCannotBeIsRefused(path: String) async throws {
        let scene = try await SyncScene()
        scene.server.setGate { request in
            guard request.action == "ls" else { return nil }
            return .xml(
                #"<tree is_file="false" filename="" text=""><tree is_file="true" filename="\#(path)" text="x"/></tree>"#
            )
        }
        #expect(await failure { try await scene.run() }?.code == .receivedNotExpectedAnswer)
        #expect(scene.localTree.isEmpty)
    }

    /// A server could list without end.
    @Test func aServerThatListsTooMuchIsNotHeardOut() async throws {
        let scene = try await SyncScene()
        scene.server.setGate { request in
            guard request.action == "ls" else { return nil }
            let folder = request.parameter("dir").flatMap { $0 == "/" ? "" : $0 } ?? ""
            let children = (0..<10).map { #"<tree is_file="false" filename="\#(folder)/\#($0)" text="x"/>"# }
            return .xml(
                #"<tree is_file="false" filename="\#(folder)" text="">\#(children.joined())</tree>"#)
        }
        let error = await failure { try await scene.run { $0.maximumNodes = 500 } }
        #expect(error?.code == .tooLarge && scene.server.count("ls") < 60)
        #expect(scene.localTree.isEmpty)
    }

    @Test func theLossOfEverythingIsNotCarriedOver() async throws {
        let scene = try await SyncScene()
        for name in ["a", "d/b"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        try await scene.run()
        for name in ["a", "d"] { try scene.remove(name) }
        #expect(try await scene.run().emptySide == .local)
        #expect(scene.remoteTree.count == 3)
        #expect(try await scene.run { $0.allowsEmptying = true }.isComplete)
        #expect(scene.remoteTree.isEmpty)
    }

    // MARK: The state

    @Test func theStateBelongsToOneAccountAndFolder() async throws {
        let scene = try await SyncScene()
        scene.server.addFolder("/in")
        try await scene.run()
        let other = await failure { _ = try await scene.sync(account: "bob").run() }
        #expect(other?.code == .file && other?.message.contains("synced with ada at") == true)
        #expect(await failure { try await scene.run("/in") }?.code == .file)
    }

    @Test func oneSyncAtATimeHasTheFolder() async throws {
        let scene = try await SyncScene()
        try scene.write("a", to: "a")
        scene.server.inject(.hold, into: "upload")
        async let first = scene.run()
        #expect(await eventually { scene.server.heldCount == 1 })
        let second = await failure { try await scene.run() }
        #expect(second?.message.contains("is being synced by this process:") == true)
        scene.server.release()
        #expect(try await first.isComplete)
    }

    @Test func aDamagedStateIsTold_andWithoutItNothingIsDeleted() async throws {
        let scene = try await SyncScene()
        try scene.server.addFile("/a", Array("a".utf8))
        try await scene.run()
        let state = scene.folder.appending(path: ".pydio-sync")
        try? FileManager.default.removeItem(at: state.appending(path: "state.sqlite-wal"))
        try Data(repeating: 7, count: 20_000).write(to: state.appending(path: "state.sqlite"))
        let error = await failure { try await scene.run() }
        #expect(error?.code == .file && error?.message.contains("remove that folder") == true)
        try FileManager.default.removeItem(at: state)
        try scene.remove("a")
        #expect(try await scene.run().isComplete)
        #expect(scene.localTree == ["/a": "a"] && scene.remoteTree == ["/a": "a"])
    }

    @Test func aPlanChangesNothing() async throws {
        let scene = try await SyncScene()
        try scene.server.addFile("/there", Array("there".utf8))
        try scene.write("here", to: "here")
        let first = try await scene.sync().plan()
        #expect(first.steps.map { "\($0.kind) \($0.path)" } == ["upload here", "download there"])
        #expect(scene.localTree == ["/here": "here"] && scene.remoteTree == ["/there": "there"])
        #expect(!FileManager.default.fileExists(atPath: scene.folder.path + "/.pydio-sync"))
        try await scene.run()
        try scene.remove("here")
        let later = try await scene.sync().plan()
        #expect(later.steps.map { "\($0.kind) \($0.path)" } == ["deleteRemote here"])
        #expect(scene.remoteTree.count == 2)
    }

    // MARK: Watching

    @Test(arguments: SyncScene.servers.indices)
    func aWatchCarriesWhatChangesLater(server: Int) async throws {
        let scene = try await SyncScene(SyncScene.servers[server])
        try scene.server.addFile("/a", Array("old".utf8))
        let sync = scene.sync {
            $0.rescanInterval = .milliseconds(50)
            $0.events.pollInterval = .seconds(2)
        }
        let task = Task { try await sync.watch() }
        #expect(await eventually { scene.text("a") == "old" })
        try scene.write("here", to: "b")
        #expect(await eventually { scene.remoteText("/b") == "here" })
        scene.change("/a", to: "newer")
        #expect(await eventually { scene.text("a") == "newer" })
        task.cancel()
        #expect(await failure { try await task.value }?.code == .cancelled)
    }

    @Test func aWatchOutlivesALostServer() async throws {
        let scene = try await SyncScene()
        let sync = scene.sync { $0.rescanInterval = .milliseconds(50) }
        let task = Task { try await sync.watch() }
        try scene.write("first", to: "a")
        #expect(await eventually { scene.remoteText("/a") == "first" })
        scene.server.inject(.status(503), into: "upload", times: 2)
        try scene.write("later", to: "b")
        #expect(await eventually { scene.remoteText("/b") == "later" })
        task.cancel()
        _ = await failure { try await task.value }
        #expect(scene.remoteTree == ["/a": "first", "/b": "later"])
    }
}
