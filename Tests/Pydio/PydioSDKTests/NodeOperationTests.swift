import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// Features of plugins and server versions: search, hashes, copies between workspaces, archives, metadata, comments,
/// locks, notifications, permissions, quotas, the feed.
@Suite(.overSockets)
struct NodeOperationTests {
    private static let team = FakePydioWorkspace.teamID

    /// Every optional operation, and the plugin that the server needs for it.
    private static let operations: [(plugin: FakePydioPlugin, run: @Sendable (PydioClient) async throws -> Void)] = [
        (.search, { _ = try await $0.search(workspaceId: "0", query: "a") }),
        (.hashes, { _ = try await $0.statWithHash(workspaceId: "0", path: "/a.txt") }),
        (
            .crossCopy,
            { try await $0.copy(workspaceId: "0", path: "/a.txt", to: "/x", inWorkspace: FakePydioWorkspace.teamID) }
        ),
        (
            .crossCopy,
            { try await $0.move(workspaceId: "0", path: "/a.txt", to: "/x", inWorkspace: FakePydioWorkspace.teamID) }
        ),
        (.archives, { try await $0.compress(workspaceId: "0", nodes: ["/a.txt"], to: "/a.zip") }),
        (.permissions, { try await $0.chmod(workspaceId: "0", nodes: ["/a.txt"], mode: 0o600) }),
        (.purge, { try await $0.purge(workspaceId: "0") }),
        (.metadata, { try await $0.setMetadata(workspaceId: "0", path: "/a.txt", values: ["tags": "x"]) }),
        (.comments, { _ = try await $0.comments(workspaceId: "0", path: "/a.txt") }),
        (.comments, { try await $0.addComment(workspaceId: "0", path: "/a.txt", content: "x") }),
        (.locks, { try await $0.lock(workspaceId: "0", path: "/a.txt") }),
        (.locks, { try await $0.unlock(workspaceId: "0", path: "/a.txt") }),
        (.quota, { _ = try await $0.quota(workspaceId: "0") }),
        (.watches, { try await $0.setWatch(workspaceId: "0", path: "/a.txt", to: .changes) }),
        (.feed, { _ = try await $0.activities(workspaceId: "0") }),
    ]

    // MARK: Servers without the feature

    @Test(arguments: FakePydioMode.allCases, operations.indices)
    func anOperationThatTheServerDoesNotHaveIsNamed_andChangesNothing(mode: FakePydioMode, index: Int) async throws {
        let (plugin, run) = Self.operations[index]
        var configuration = FakePydioServer.Configuration(mode: mode)
        configuration.plugins.remove(plugin)
        try await PydioScene.with(configuration) { scene in
            let before = scene.server.paths()
            let error = await failure { try await run(scene.client) }
            #expect(error?.code == .unsupportedOperation && error?.isRetryable == false)
            #expect(error?.message.hasPrefix("the server does not offer ") == true)
            #expect(scene.server.paths() == before && scene.server.paths(in: Self.team) == [])
        }
    }

    @Test(arguments: operations.indices)
    func withoutTheRight_theServersWordsAreTold(index: Int) async throws {
        let (plugin, run) = Self.operations[index]
        guard plugin != .quota else { return }  // no right needed
        let rights = FakePydioUser(id: "ada", password: PydioScene.password, rights: ["0": [], Self.team: []])
        try await PydioScene.with(FakePydioServer.Configuration(users: [rights])) { scene in
            let before = scene.server.paths()
            let error = await failure { try await run(scene.client) }
            #expect(error?.code == .errorResponse && error?.serverMessage?.contains("permission") == true)
            #expect(scene.server.paths() == before)
        }
    }

    // MARK: Search

    @Test(arguments: FakePydioMode.allCases)
    func searchFindsNames_withTheirScores(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            for name in ["/x/plan é.txt", "/x/planes/1", "/other"] { try scene.server.addFile(name) }
            let found = try await scene.client.search(workspaceId: "0", query: "PLAN*")
            #expect(found.map(\.path) == ["/x/plan é.txt", "/x/planes"])
            #expect(found.map(\.isLeaf) == [true, false] && found.first?.attributes["search_score"] == "0.71")
            #expect(try await scene.client.search(workspaceId: "0", query: "nowhere") == [])
            #expect(try await scene.client.search(workspaceId: "0", query: "plan", limit: 1).count == 1)
            let empty = await failure { _ = try await scene.client.search(workspaceId: "0", query: " \n") }
            #expect(empty?.code == .invalidArgument)
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func anIndexThatIsStillMadeIsNotAnEmptyResult(mode: FakePydioMode) async throws {
        var configuration = FakePydioServer.Configuration(mode: mode)
        configuration.isIndexing = true
        try await PydioScene.with(configuration) { scene in
            let error = await failure { _ = try await scene.client.search(workspaceId: "0", query: "a") }
            #expect(error?.code == .errorResponse)
            #expect(error?.serverMessage == "The index is being made, come back later")
        }
    }

    // MARK: Hashes

    @Test(arguments: FakePydioMode.allCases)
    func hashesAreThoseOfTheContent(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            try scene.server.addFile("/empty")
            let hash = { try await scene.client.statWithHash(workspaceId: "0", path: $0)?.contentHash }
            #expect(try await hash("/a.txt") == "5d41402abc4b2a76b9719d911017c592")
            #expect(try await hash("/empty") == "d41d8cd98f00b204e9800998ecf8427e")
            #expect(try await hash("/docs") == "directory")
            #expect(try await hash("/none") == nil)
        }
    }

    // MARK: Between workspaces

    @Test(arguments: FakePydioMode.allCases)
    func nodesGoToAnotherWorkspace_underAnyName(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let (client, team) = (scene.client, Self.team)
            let file = try await client.copy(workspaceId: "0", path: "/a.txt", to: "/b.txt", inWorkspace: team)
            let folder = try await client.copy(workspaceId: "0", path: "/docs", to: "/docs", inWorkspace: team)
            #expect(file == "/b.txt" && folder == "/docs")
            #expect(scene.server.paths(in: team) == ["/b.txt", "/docs", "/docs/b.txt"])
            let moved = try await client.move(workspaceId: "0", path: "/a.txt", to: "/docs/c", inWorkspace: team)
            #expect(moved == "/docs/c")
            #expect(scene.server.contents(of: "/docs/c", in: team) == Array("hello".utf8))
            #expect(scene.server.exists("/recycle_bin/a.txt") && !scene.server.exists("/a.txt"))
            // And within the workspace under another name of it.
            let same = try await client.copy(workspaceId: team, path: "/b.txt", to: "/e", inWorkspace: team)
            #expect(same == "/e" && scene.server.exists("/e", in: team))
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func nothingIsReplacedInTheOtherWorkspace(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            try scene.server.addFile("/a.txt", Array("theirs".utf8), in: Self.team)
            for isMove in [false, true] {
                let error = await failure {
                    if isMove {
                        try await scene.client.move(
                            workspaceId: "0", path: "/a.txt", to: "/a.txt", inWorkspace: Self.team)
                    } else {
                        try await scene.client.copy(
                            workspaceId: "0", path: "/a.txt", to: "/a.txt", inWorkspace: Self.team)
                    }
                }
                #expect(error?.code == .errorResponse)
                #expect(scene.server.paths(in: Self.team) == ["/a.txt"])
                #expect(scene.server.contents(of: "/a.txt", in: Self.team) == Array("theirs".utf8))
                #expect(scene.server.exists("/a.txt"))
            }
        }
    }

    /// The copy exists, and its temporary folder is empty.
    @Test func aFolderThatCannotBeRemovedIsNoFailureOfTheCopy() async throws {
        try await PydioScene.with { scene in
            scene.server.inject(.errorDocument("No way"), into: "delete")
            let path = try await scene.client.copy(workspaceId: "0", path: "/a.txt", to: "/b.txt")
            #expect(path == "/b.txt" && scene.server.contents(of: "/b.txt") == Array("hello".utf8))
            #expect(scene.server.count("delete") == 1)
        }
    }

    /// The server claims to have copied all of a folder, but has not.
    @Test func anOriginalStaysUntilItsCopyIsTheSame() async throws {
        try await PydioScene.with { scene in
            let server = scene.server
            server.setGate { request in
                // A file disappears from the copy before the comparison with the original.
                if request.action == "rename" {
                    server.remove(request.parameter("file").map { $0 + "/b.txt" } ?? "", in: Self.team)
                }
                return nil
            }
            let error = await failure {
                try await scene.client.move(workspaceId: "0", path: "/docs", to: "/docs", inWorkspace: Self.team)
            }
            #expect(error?.code == .receivedNotExpectedAnswer)
            #expect(scene.server.exists("/docs/b.txt") && scene.server.count("delete") == 1)  // of the temporary folder
        }
    }

    // MARK: Archives

    @Test(arguments: FakePydioMode.allCases)
    func whatIsPackedCanBeUnpackedElsewhere(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let client = scene.client
            #expect(
                try await client.compress(workspaceId: "0", nodes: ["/docs", "/a.txt"], to: "/all.zip") == "/all.zip")
            try await client.mkdir(MkDirRequestParams(workspaceId: "0", dir: "/", dirname: "out"))
            #expect(
                try await client.extract(workspaceId: "0", archive: "/all.zip", into: "/out").sorted()
                    == ["/out/a.txt", "/out/docs"])
            #expect(scene.server.contents(of: "/out/docs/b.txt") == Array("world".utf8))
            #expect(scene.server.contents(of: "/out/a.txt") == Array("hello".utf8))
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func noArchiveAndNothingUnpackedReplacesWhatIsThere(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            try scene.server.addFile("/old.zip", Array("theirs".utf8))
            let taken = await failure {
                try await scene.client.compress(workspaceId: "0", nodes: ["/a.txt"], to: "/old.zip")
            }
            #expect(taken?.code == .file && scene.server.contents(of: "/old.zip") == Array("theirs".utf8))
            try await scene.client.compress(workspaceId: "0", nodes: ["/a.txt"], to: "/new.zip")
            try scene.server.addFile("/a.txt", Array("newer".utf8))
            let other = await failure {
                try await scene.client.extract(workspaceId: "0", archive: "/new.zip", into: "/")
            }
            #expect(other?.code == .file && other?.message.hasPrefix("/a.txt already exists") == true)
            #expect(scene.server.contents(of: "/a.txt") == Array("newer".utf8))
            let none = await failure {
                try await scene.client.extract(workspaceId: "0", archive: "/old.zip", into: "/docs")
            }
            #expect(none?.code == .errorResponse)
            for (nodes, name) in [(["/a.txt"], "/a.tar"), ([], "/b.zip"), (["/docs/b.txt"], "/b.zip")] {
                let wrong = await failure {
                    try await scene.client.compress(workspaceId: "0", nodes: nodes, to: name)
                }
                #expect(wrong?.code == .invalidArgument)
            }
        }
    }

    // MARK: Metadata and comments

    @Test(arguments: FakePydioMode.allCases)
    func metadataKeepsWhatIsNotSet(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let client = scene.client
            for values in [["tags": "a"], ["note": "b\nc"], ["tags": ""]] {
                try await client.setMetadata(workspaceId: "0", path: "/docs/b.txt", values: values)
            }
            let fields = try await client.node(workspaceId: "0", path: "/docs/b.txt")?.metadataFields
            #expect(
                fields == [
                    PydioMetadataField(name: "tags", label: "Tags", value: ""),
                    PydioMetadataField(name: "note", label: "A note", value: "b\nc"),
                ])
            // Servers would ignore it, or mistake it for one of their own parameters.
            for name in ["unknown", "dir", "secure_token", "get_action", ""] {
                let error = await failure {
                    try await client.setMetadata(workspaceId: "0", path: "/a.txt", values: [name: "x"])
                }
                #expect(error?.code == .invalidArgument)
            }
            #expect(scene.server.count("edit_user_meta") == 3)
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func usersDeleteTheirOwnComments(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let client = scene.client
            scene.server.act("post_comment", ["file": "/a.txt", "content": "of bob"], as: "bob")
            try await client.addComment(workspaceId: "0", path: "/a.txt", content: "one / \"two\"")
            try await client.addComment(workspaceId: "0", path: "/a.txt", content: "three")
            let comments = try await client.comments(workspaceId: "0", path: "/a.txt")
            #expect(comments.map(\.author) == ["bob", "ada", "ada"])
            #expect(comments.map(\.content) == ["of bob", "one / \"two\"", "three"])
            try await client.deleteComment(workspaceId: "0", path: "/a.txt", comment: comments[1])
            let refused = await failure {
                try await client.deleteComment(workspaceId: "0", path: "/a.txt", comment: comments[0])
            }
            #expect(refused?.code == .errorResponse)
            #expect(
                try await client.comments(workspaceId: "0", path: "/a.txt").map(\.content) == ["of bob", "three"])
        }
    }

    // MARK: Locks and notifications

    @Test(arguments: FakePydioMode.allCases)
    func theLocksOfOthersAreLeftAlone(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let client = scene.client
            scene.server.act("sl_lock", ["file": "/docs/b.txt"], in: "0", as: "ada")
            #expect(try await client.node(workspaceId: "0", path: "/docs/b.txt")?.isLockedByUser == true)
            try await client.unlock(workspaceId: "0", path: "/docs/b.txt")
            scene.server.configure { $0.users[1].rights = nil }
            scene.server.act("sl_lock", ["file": "/a.txt"], as: "bob")
            let node = try await client.node(workspaceId: "0", path: "/a.txt")
            #expect(node?.isLocked == true && node?.isLockedByUser == false && node?.path == "/a.txt")
            let others = [
                await failure { try await client.lock(workspaceId: "0", path: "/a.txt") },
                await failure { try await client.unlock(workspaceId: "0", path: "/a.txt") },
            ]
            #expect(others.allSatisfy { $0?.message == "/a.txt is locked by somebody else; the lock was left alone" })
            #expect(scene.server.requests("sl_lock").count == 1)
            let changed = await failure {
                try await client.rename(workspaceId: "0", path: "/a.txt", newName: "b.txt")
            }
            #expect(changed?.serverMessage == "a.txt is locked by another user")
            try await client.unlock(workspaceId: "0", path: "/a.txt", breaksOthers: true)
            #expect(try await client.node(workspaceId: "0", path: "/a.txt")?.isLocked == false)
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func notificationsEndOnlyWhereThereAreSome(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let client = scene.client
            try await client.setWatch(workspaceId: "0", path: "/docs", to: nil)
            #expect(scene.server.count("toggle_watch") == 0)
            for watch in PydioWatch.allCases {
                try await client.setWatch(workspaceId: "0", path: "/docs", to: watch)
                #expect(try await client.node(workspaceId: "0", path: "/docs")?.watch == watch)
            }
            try await client.setWatch(workspaceId: "0", path: "/docs", to: nil)
            let node = try await client.node(workspaceId: "0", path: "/docs")
            #expect(node?.watch == nil && node?.attributes["meta_watched"] == nil)
        }
    }

    // MARK: The rest

    @Test(arguments: FakePydioMode.allCases)
    func theFeedTellsWhatUsersHaveDone(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let activities = try await scene.client.activities(workspaceId: "0")
            #expect(activities.map(\.path) == ["/recycle_bin/old.txt"] && activities.first?.workspaceId == "0")
            #expect(activities.first?.summary?.hasPrefix("old.txt was moved") == true)
            #expect(activities.first?.author == (mode == .v8 ? "ada" : nil) && activities.first?.date != nil)
            // An empty feed is not a missing one.
            #expect(try await scene.client.activities(workspaceId: Self.team) == [])
            #expect(try await scene.client.activities(workspaceId: "0", limit: 0) == [])
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func aQuotaMayHaveNoLimit(mode: FakePydioMode) async throws {
        var configuration = FakePydioServer.Configuration(mode: mode)
        configuration.workspaces[0].quota = 1000
        try await PydioScene.with(configuration) { scene in
            let (limited, free) = try await (
                scene.client.quota(workspaceId: "0"), scene.client.quota(workspaceId: Self.team)
            )
            #expect(limited == PydioQuota(used: 13, total: 1000) && free == PydioQuota(used: 0, total: nil))
        }
    }

    @Test func permissionsAreOctal_andBounded() async throws {
        try await PydioScene.with { scene in
            try await scene.client.chmod(workspaceId: "0", nodes: ["/docs"], mode: 0o7, isRecursive: true)
            let request = try #require(scene.server.requests("chmod").last)
            #expect(request.parameter("chmod_value") == "0007" && request.parameter("recursive") == "on")
            for mode in [-1, 0o10000] {
                let error = await failure {
                    try await scene.client.chmod(workspaceId: "0", nodes: ["/docs"], mode: mode)
                }
                #expect(error?.code == .invalidArgument)
            }
            #expect(scene.server.requests("chmod").last?.parameter("chmod_value") == "0007")
        }
    }

    // MARK: Names

    /// An escaped `#` that is escaped again starts a page number; servers cut a folder's path there.
    @Test(arguments: FakePydioMode.allCases)
    func numberSignsInNamesAreNoPages(mode: FakePydioMode) async throws {
        var configuration = FakePydioServer.Configuration(mode: mode)
        (configuration.pageThreshold, configuration.pageSize) = (2, 2)
        try await PydioScene.with(configuration) { scene in
            let client = scene.client
            for name in ["1", "2", "3"] { try scene.server.addFile("/a#b/\(name)#") }
            let folder = try await client.listAllNodes(ListNodesRequestParams(workspaceId: "0", path: "/a#b"))
            #expect(folder?.children?.map(\.path) == ["/a#b/1#", "/a#b/2#", "/a#b/3#"])
            let params = UploadNodesRequestParams(workspaceId: "0", dir: "/a#b", fileName: "4#%23.txt")
            try await client.uploadNodes(params, data: Data("four".utf8))
            #expect(scene.server.contents(of: "/a#b/4#%23.txt") == Array("four".utf8))
            #expect(try await client.stat(workspaceId: "0", path: "/a#b/4#%23.txt")?.size == 4)
            #expect(
                try await client.getContent(workspaceId: "0", path: "/a#b/4#%23.txt") == Data("four".utf8))
            #expect(try await client.move(workspaceId: "0", path: "/a#b/4#%23.txt", to: "/%23") == "/%23")
            #expect(try await client.copy(workspaceId: "0", path: "/%23", to: "/docs/x%232#") == "/docs/x%232#")
            let down = try scene.file("down")
            try await client.downloadNodes(
                DownloadNodesRequestParams(workspaceId: "0", nodes: ["/docs/x%232#"]), to: down)
            #expect(try Data(contentsOf: down) == Data("four".utf8))
        }
    }

    /// XML cannot represent them: the node would have a name that no answer shows.
    @Test func namesThatNoServerCanTellAreRefused() async throws {
        try await PydioScene.with { scene in
            let (client, before) = (scene.client, scene.server.paths())
            for name in ["a\u{1B}[1m", "\u{1}", "a\u{FFFE}b", ". ", "?..\""] {
                let calls: [@Sendable () async throws -> Void] = [
                    { try await client.mkdir(MkDirRequestParams(workspaceId: "0", dir: "/", dirname: name)) },
                    { try await client.mkfile(workspaceId: "0", dir: "/", fileName: name) },
                    { try await client.rename(workspaceId: "0", path: "/a.txt", newName: name) },
                    { try await client.move(workspaceId: "0", path: "/a.txt", to: "/" + name) },
                    { try await client.compress(workspaceId: "0", nodes: ["/a.txt"], to: "/\u{2}\(name).zip") },
                    {
                        try await client.uploadNodes(
                            UploadNodesRequestParams(workspaceId: "0", dir: "/", fileName: name), data: Data([1]))
                    },
                ]
                for call in calls {
                    let error = await failure { try await call() }
                    #expect(error?.code == .invalidArgument)
                }
            }
            #expect(scene.server.paths() == before)
        }
    }

    /// They can be made, moved and deleted, but nothing in them is reachable: a server would take another folder.
    @Test(arguments: FakePydioMode.allCases)
    func foldersWithAPageMarkInTheirNamesAreRefused_beforeAnotherIsTaken(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let client = scene.client
            try await client.mkdir(MkDirRequestParams(workspaceId: "0", dir: "/", dirname: "docs%232"))
            let before = scene.server.paths()
            let folder = "/docs%232"
            let calls: [@Sendable () async throws -> Void] = [
                { _ = try await client.listNodes(ListNodesRequestParams(workspaceId: "0", path: folder)) },
                { _ = try await client.listAllNodes(ListNodesRequestParams(workspaceId: "0", path: folder)) },
                { try await client.mkdir(MkDirRequestParams(workspaceId: "0", dir: folder, dirname: "x")) },
                { try await client.mkfile(workspaceId: "0", dir: folder, fileName: "x") },
                {
                    try await client.uploadNodes(
                        UploadNodesRequestParams(workspaceId: "0", dir: folder, fileName: "x"), data: Data([1]))
                },
                { try await client.compress(workspaceId: "0", nodes: [folder + "/x"], to: folder + "/x.zip") },
            ]
            for call in calls {
                let error = await failure { try await call() }
                #expect(error?.code == .invalidArgument && error?.message.contains("%23") == true)
            }
            #expect(scene.server.paths() == before)
            #expect(try await client.move(workspaceId: "0", path: folder, to: "/docs/in") == "/docs/in")
            #expect(scene.server.exists("/docs/in"))
        }
    }
}
