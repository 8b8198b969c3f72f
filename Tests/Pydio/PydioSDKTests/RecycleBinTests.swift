import Basics
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// Servers handle the recycle bin only for clients that claim to be in it.
@Suite(.overSockets)
struct RecycleBinTests {
    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func nodesAreRestored_whereTheyWere(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            scene.server.act("delete", ["nodes[]": "/docs/b.txt"], as: "ada")
            let answer = try await scene.client.restore(workspaceId: "0", nodes: ["/recycle_bin/b.txt"])
            #expect(answer.nodesDiff?.added.map(\.fullPath) == ["/docs/b.txt"])
            #expect(scene.server.exists("/docs/b.txt") && !scene.server.exists("/recycle_bin/b.txt"))
        }
    }

    @Test func whatIsInTheBinIsDeletedForGood_andNothingElse() async throws {
        try await PydioScene.with { scene in
            try await scene.client.deleteNodes(
                DeleteNodesRequestParams(workspaceId: "0", nodes: ["/recycle_bin/old.txt"]))
            #expect(!scene.server.exists("/recycle_bin/old.txt"))
            try scene.server.addFile("/recycle_bin/old.txt")
            // One of the two would be lost if the client claimed to be in the bin.
            let error = await failure {
                try await scene.client.deleteNodes(
                    DeleteNodesRequestParams(workspaceId: "0", nodes: ["/recycle_bin/old.txt", "/a.txt"]))
            }
            #expect(error?.code == .errorResponse)
            #expect(scene.server.exists("/a.txt"))
            var params = DeleteNodesRequestParams(workspaceId: "0", nodes: ["/a.txt"])
            params.dir = PydioRecycleBin.usualPath
            try await scene.client.deleteNodes(params)
            #expect(!scene.server.exists("/recycle_bin/a.txt") && !scene.server.exists("/a.txt"))
        }
    }

    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func theBinIsEmptied_alsoWhereServersHaveNoRequestForIt(mode: FakePydioMode) async throws {
        var configuration = FakePydioServer.Configuration(mode: mode)
        (configuration.pageThreshold, configuration.pageSize) = (400, 300)
        try await PydioScene.with(configuration) { scene in
            // More than one request deletes.
            for number in 1...600 { try scene.server.addFile("/recycle_bin/\(number).txt") }
            let answer = try await scene.client.emptyRecycleBin(workspaceId: "0")
            #expect(answer.nodesDiff?.removed.count == 601)
            #expect(scene.server.paths() == ["/a.txt", "/docs", "/docs/b.txt"])
            #expect(scene.server.count("delete") == (mode == .v5_2 ? 2 : 0))
            _ = try await scene.client.emptyRecycleBin(workspaceId: "0")
            _ = try await scene.client.emptyRecycleBin(workspaceId: FakePydioWorkspace.teamID)  // has none
            #expect(scene.server.count("delete") == (mode == .v5_2 ? 2 : 0))
        }
    }

    /// Deletion is final: the client does not delete what a server lists from elsewhere.
    @Test func aBinThatHoldsWhatIsElsewhereIsNotEmptied() async throws {
        try await PydioScene.with { scene in
            let lists = Lock(0)
            scene.server.setGate { request in
                guard request.action == "ls",
                    lists.withLock({
                        $0 += 1; return $0 == 2
                    })
                else { return nil }
                return .xml(
                    #"""
                    <tree filename="/recycle_bin"><tree is_file="true" filename="/a.txt" text="old.txt"/></tree>
                    """#)
            }
            let error = await failure { _ = try await scene.client.emptyRecycleBin(workspaceId: "0") }
            #expect(error?.code == .receivedNotExpectedAnswer)
            #expect(scene.server.count("delete") == 0 && scene.server.exists("/a.txt"))
        }
    }

    @Test func thePathsOfTheBinAreKnown() {
        #expect(PydioRecycleBin.holds("/recycle_bin/a") && PydioRecycleBin.holds("/recycle_bin/a/b"))
        for path in ["/recycle_bin", "/recycle_bin/", "/recycle_bin2/a", "/a/recycle_bin/b", "recycle_bin/a", ""] {
            #expect(!PydioRecycleBin.holds(path))
        }
        let params = DeleteNodesRequestParams(workspaceId: "0", nodes: [])
        #expect(params.dictionaryRepresentation["dir"] == nil)
    }
}
