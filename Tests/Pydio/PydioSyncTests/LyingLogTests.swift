import Foundation
import PydioProtocol
import PydioSDK
import PydioSync
import PydioTestSupport
import TestSupport
import Testing

/// Servers whose log of changes has missing, late or duplicate entries.
@Suite(.overSockets)
struct LyingLogTests {
    private static let modes: [FakePydioMode] = [.v5_2, .v8]

    /// The folder was made on the server's disk, or by a client that was killed meanwhile.
    @Test(arguments: modes, [true, false])
    func aFolderThatTheLogDoesNotTellOfIsMerged(mode: FakePydioMode, hasFile: Bool) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        try scene.server.addFile("/k", Array("k".utf8))
        try await scene.run()
        scene.server.addFolder("/Thesis")
        if hasFile { try scene.server.addFile("/Thesis/sub/theirs.tex", Array("theirs".utf8)) }
        try scene.write("mine", to: "Thesis/main.tex")
        for _ in 0..<3 { #expect(try await scene.run().isComplete) }
        #expect(scene.text("Thesis/main.tex") == "mine" && scene.remoteText("/Thesis/main.tex") == "mine")
        #expect(scene.localTree == scene.remoteTree)
        #expect((scene.text("Thesis/sub/theirs.tex") == "theirs") == hasFile)
    }

    @Test(arguments: modes)
    func whatWasUploadedAndNeverToldIsNotDeletedHere(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        try scene.server.addFile("/k", Array("k".utf8))
        try await scene.run()
        scene.server.setLogFaults(.all)
        try scene.write("mine", to: "d/e/a")
        for _ in 0..<3 { try await scene.run() }
        #expect(scene.text("d/e/a") == "mine" && scene.localTree == scene.remoteTree)
        // Nor does it stay there once it is deleted locally.
        try scene.remove("d")
        try await scene.run()
        #expect(scene.remoteTree == ["/k": "k"] && scene.localTree == scene.remoteTree)
    }

    /// The log reports the deletion, but not the new file.
    @Test(arguments: modes)
    func whatTheLogSaysIsGoneIsLookedForBeforeItIsDeletedHere(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        for name in ["d/a", "d/e/b", "k"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        try await scene.run()
        scene.delete("/d")
        let server = scene.server
        server.setGate { request in
            // After the listing, with the step in progress.
            if request.action == "stat", !server.exists("/d/e/b") {
                try? server.addFile("/d/e/b", Array("d/e/b".utf8))
            }
            return nil
        }
        try await scene.run()
        server.setGate(nil)
        #expect(scene.text("d/e/b") == "d/e/b" && scene.localTree == scene.remoteTree)
    }

    @Test(arguments: modes)
    func aFolderThatIsDeletedHereStaysThereForWhatTheLogDoesNotTell(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        for name in ["d/a", "d/e/b", "k"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        try await scene.run()
        try scene.server.addFile("/d/e/theirs", Array("theirs".utf8))
        try scene.remove("d")
        #expect(try await scene.run().isComplete)
        #expect(scene.remoteTree == ["/d": "folder", "/d/e": "folder", "/d/e/theirs": "theirs", "/k": "k"])
        #expect(scene.localTree == scene.remoteTree)
    }

    @Test(arguments: modes)
    func aFolderThatWasMovedWithoutAWordIsNoDeadEnd(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        for name in ["d/e/a", "k"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        try await scene.run()
        scene.server.move("/d", to: "/moved")
        try scene.write("mine", to: "d/e/b")
        for _ in 0..<2 { #expect(try await scene.run { $0.fullListingInterval = .zero }.isComplete) }
        #expect(scene.remoteText("/d/e/b") == "mine" && scene.text("moved/e/a") == "d/e/a")
        #expect(scene.localTree == scene.remoteTree && scene.localTree.count == 7)
    }

    @Test(arguments: modes)
    func aFullListingFindsWhatTheLogNeverTold(mode: FakePydioMode) async throws {
        let scene = try await SyncScene(.init(mode: mode))
        for name in ["d/a", "e/b"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        try await scene.run()
        try scene.server.addFile("/new/c", Array("c".utf8))
        scene.server.remove("/d/a")
        try scene.server.addFile("/e/b", Array("changed".utf8))
        scene.server.forgetRequests()
        try await scene.run()
        #expect(scene.server.count("ls") == 0)
        try await scene.run { $0.fullListingInterval = .zero }
        #expect(scene.localTree == scene.remoteTree)
        #expect(scene.text("new/c") == "c" && scene.text("e/b") == "changed" && scene.text("d/a") == nil)
    }

    /// Everything seems to be gone, but only by the log.
    @Test func theLossOfEverythingIsLookedAtTwice() async throws {
        let scene = try await SyncScene()
        try scene.server.addFile("/a", Array("a".utf8))
        try await scene.run()
        let summary = try await scene.run()
        #expect(summary.emptySide == nil)
        scene.server.act("delete", ["nodes[]": "/a"], as: "ada")
        try await scene.run { $0.direction = .up }
        try scene.server.addFile("/a", Array("a".utf8))
        #expect(try await scene.run().emptySide == nil)
        #expect(scene.text("a") == "a" && scene.remoteText("/a") == "a")
    }

    /// The run is killed after the local file was deleted, and before all of its replacement has arrived.
    @Test(arguments: modes)
    func aFolderThatReplacesAFileComesWhole(mode: FakePydioMode) async throws {
        for request in 0..<20 {
            let scene = try await SyncScene(.init(mode: mode))
            for name in ["x", "k"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
            try await scene.run()
            scene.delete("/x")
            scene.server.act("mkdir", ["dir": "/", "dirname": "x"], as: "ada")
            for name in ["/x/a", "/x/b"] { scene.change(name, to: name) }
            scene.server.inject(.drop, times: nil, after: request)
            _ = await failure { try await scene.run() }
            scene.server.clearFaults()
            try await scene.run()
            #expect(scene.text("x/a") == "/x/a" && scene.localTree == scene.remoteTree, "request \(request)")
            await scene.server.stop()
        }
    }

    // MARK: Property

    /// Kills at any request, changes on both sides between the steps, on the server with and without a log entry, and a
    /// log with missing, late and duplicate entries, and late ones with early numbers.
    @Test(arguments: 0..<8)
    func nothingIsDeletedThatNobodyHasDeleted_andBothSidesBecomeTheSame(part: Int) async throws {
        for seed in part * 8..<part * 8 + 8 { try await LyingLogSchedule(seed: UInt64(seed)).run() }
    }
}
