import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// The log of changes, and messages.
@Suite(.overSockets)
struct ChangesTests {
    @Test(arguments: [true, false], [FakePydioMode.v5_2, .v8])
    func theLogTellsWhatHasHappened(hasStrings: Bool, mode: FakePydioMode) async throws {
        var configuration = FakePydioServer.Configuration(mode: mode)
        configuration.changesHaveStrings = hasStrings
        try await PydioScene.with(configuration) { scene in
            let start = try await scene.client.changes(workspaceId: "0", since: 0).lastSequence
            #expect(try await scene.client.changes(workspaceId: "0", since: start).changes.isEmpty)
            scene.server.act("mkdir", ["dir": "/", "dirname": "new"], as: "ada")
            scene.server.act("rename", ["file": "/a.txt", "filename_new": "b.txt"], as: "ada")
            scene.server.act("delete", ["nodes[]": "/docs/b.txt"], as: "ada")
            let feed = try await scene.client.changes(workspaceId: "0", since: start, isFlattened: false)
            #expect(feed.changes.map(\.kind) == [.create, .path, .delete])
            #expect(feed.changes.map(\.target) == ["/new", "/b.txt", nil])
            #expect(feed.changes.map(\.source) == [nil, "/a.txt", "/docs/b.txt"])
            #expect(feed.changes.first?.node?.isFolder == true && feed.changes[1].node?.size == 5)
            #expect(feed.changes.last?.sequence == feed.lastSequence && !feed.isReset)
        }
    }

    @Test func aNewLogIsTold() async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: .v8)) { scene in
            for number in 0..<5 { scene.server.act("mkdir", ["dir": "/", "dirname": "\(number)"], as: "ada") }
            let last = try await scene.client.changes(workspaceId: "0", since: 0).lastSequence
            scene.server.resetChanges()
            let feed = try await scene.client.changes(workspaceId: "0", since: last)
            #expect(feed.isReset && feed.changes.isEmpty && feed.lastSequence < last)
        }
    }

    @Test(arguments: [FakePydioServer.Fault.truncated, .cut(after: 20)])
    func aLogThatBreaksOffIsAnError(fault: FakePydioServer.Fault) async throws {
        try await PydioScene.with { scene in
            try await scene.client.authorize()
            scene.server.act("mkdir", ["dir": "/", "dirname": "new"], as: "ada")
            scene.server.inject(fault, into: "changes")
            let error = await failure { _ = try await scene.client.changes(workspaceId: "0", since: 0) }
            #expect(error?.code == .unableToParseAnswer || error?.code == .network)
            #expect(error?.isRetryable == true)
        }
    }

    @Test func aServerWithoutALogIsAnError() async throws {
        var configuration = FakePydioServer.Configuration()
        configuration.hasChanges = false
        try await PydioScene.with(configuration) { scene in
            let error = await failure { _ = try await scene.client.changes(workspaceId: "0", since: 0) }
            #expect(error?.code == .receivedNotExpectedAnswer || error?.code == .errorResponse)
        }
    }

    /// The answer to a move and its message differ (8.3).
    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func aMoveIsToldDifferentlyToWhoMadeIt(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            try await scene.client.registerChannel(workspaceId: "0", clientId: "c")
            #expect(try await scene.client.consumeChannel(workspaceId: "0", clientId: "c").isEmpty)
            let answer = try await scene.client.move(workspaceId: "0", nodes: ["/a.txt"], destination: "/docs")
            #expect(answer.nodesDiff?.removed == ["/a.txt"] && answer.nodesDiff?.added.map(\.path) == ["/docs/a.txt"])
            #expect(answer.hasWaitingMessages == (mode == .v8))
            let messages = try await scene.client.consumeChannel(workspaceId: "0", clientId: "c")
            guard messages.count == 1, case .nodesDiff(let diff) = messages[0] else {
                Issue.record("\(messages)")
                return
            }
            #expect(diff.updated.map(\.path) == ["/docs/a.txt"] && diff.updated.first?.originalPath == "/a.txt")
            try await scene.client.unregisterChannel(workspaceId: "0", clientId: "c")
            #expect(scene.server.pollers.isEmpty)
        }
    }

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func theRegistryTellsOfPlugins(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let root = try await scene.client.registry("plugins")
            let ids = root.child("plugins")?.children.compactMap { $0["id"] } ?? []
            #expect(ids.contains("core.mq") && ids.contains("meta.syncable"), "\(root.serialised)")
        }
    }
}
