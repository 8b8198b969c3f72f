import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import Testing

/// Every operation of a client, with its expected result.
struct OperationCase: Sendable, CustomStringConvertible {
    let name: String
    /// The request that the faults affect.
    let action: String
    /// The number of such requests without a fault.
    var count = 1
    /// Whether the answer is empty, so that it cannot be cut.
    var isSilent = false
    /// Whether it logs in without a refusal, because it sends a file.
    var logsInFirst = false
    /// Whether it first checks what exists, so that this check is refused and repeated.
    var asksFirst = false
    /// Whether it needs a seed in addition to the login's.
    var asksForSeed = false
    /// Whether it recovers from a broken connection by continuing.
    var survivesCut = false
    /// Whether it retries once if the server refuses.
    var asksTwice = false
    /// Runs the operation; throws if the result is wrong.
    let run: @Sendable (PydioScene) async throws -> Void

    var description: String { name }

    struct Wrong: Error {
        let operation: String
    }

    private init(
        _ name: String, _ action: String, count: Int = 1, isSilent: Bool = false, logsInFirst: Bool = false,
        asksFirst: Bool = false, asksForSeed: Bool = false, survivesCut: Bool = false, asksTwice: Bool = false,
        _ run: @escaping @Sendable (PydioScene) async throws -> Bool
    ) {
        self.name = name
        self.action = action
        self.count = count
        self.isSilent = isSilent
        self.logsInFirst = logsInFirst
        self.asksFirst = asksFirst
        self.asksForSeed = asksForSeed
        self.survivesCut = survivesCut
        self.asksTwice = asksTwice
        self.run = { scene in
            guard try await run(scene) else { throw Wrong(operation: name) }
        }
    }

    static let all: [OperationCase] = reading + editing + transfers + sharing + changes + plugins + notes + account

    private static let reading = [
        OperationCase("listWorkspaces", "get_xml_registry") { scene in
            try await scene.client.listWorkspaces().filter(\.isFileStore).map(\.label) == ["Plans", "My Files", "Team"]
        },
        OperationCase("listNodes", "ls") { scene in
            let root = try await scene.client.listNodes(ListNodesRequestParams(workspaceId: "0"))
            return root.first?.children?.map(\.path) == ["/docs", "/a.txt", "/recycle_bin"]
        },
        OperationCase("listNodes, recursive", "ls") { scene in
            var params = ListNodesRequestParams(workspaceId: "0")
            params.isRecursive = true
            let docs = try await scene.client.listNodes(params).first?.children?.first
            return docs?.children?.map(\.fullPath) == ["/docs/b.txt"]
        },
        OperationCase("listAllNodes", "ls", count: 3) { scene in
            scene.server.configure { ($0.pageThreshold, $0.pageSize) = (1, 1) }
            let root = try await scene.client.listAllNodes(ListNodesRequestParams(workspaceId: "0"))
            return root?.children?.contains { $0.path == "/a.txt" } == true && root?.pagination == nil
        },
        OperationCase("stat", "stat") { try await $0.client.stat(workspaceId: "0", path: "/a.txt")?.size == 5 },
        OperationCase("getContent", "get_content") { scene in
            try await scene.client.getContent(workspaceId: "0", path: "/a.txt") == Data("hello".utf8)
        },
    ]

    private static let editing = [
        OperationCase("mkdir", "mkdir") { scene in
            let answer = try await scene.client.mkdir(MkDirRequestParams(workspaceId: "0", dir: "/", dirname: "new"))
            return answer.nodesDiff?.added.map(\.path) == ["/new"] && scene.server.exists("/new")
        },
        OperationCase("mkfile", "mkfile") { scene in
            try await scene.client.mkfile(workspaceId: "0", dir: "/docs", fileName: "n.txt", content: "x")
            return scene.server.contents(of: "/docs/n.txt") == Array("x".utf8)
        },
        OperationCase("deleteNodes", "delete") { scene in
            try await scene.client.deleteNodes(DeleteNodesRequestParams(workspaceId: "0", nodes: ["/a.txt", "/docs"]))
            return !scene.server.exists("/a.txt") && scene.server.exists("/recycle_bin/docs")
        },
        OperationCase("rename", "rename") { scene in
            let answer = try await scene.client.rename(workspaceId: "0", path: "/docs/b.txt", newName: "c.txt")
            return answer.nodesDiff?.updated.first?.originalPath == "/docs/b.txt" && scene.server.exists("/docs/c.txt")
        },
        OperationCase("move", "move") { scene in
            try await scene.client.move(workspaceId: "0", nodes: ["/a.txt"], destination: "/docs")
            return scene.server.exists("/docs/a.txt") && !scene.server.exists("/a.txt")
        },
        OperationCase("copy", "copy") { scene in
            try await scene.client.copy(workspaceId: "0", nodes: ["/a.txt"], destination: "/docs")
            return scene.server.exists("/docs/a.txt") && scene.server.exists("/a.txt")
        },
        OperationCase("restore", "restore") { scene in
            try await scene.client.restore(workspaceId: "0", nodes: ["/recycle_bin/old.txt"])
            return scene.server.exists("/old.txt")
        },
        OperationCase("emptyRecycleBin", "empty_recycle", isSilent: true) { scene in
            try await scene.client.emptyRecycleBin(workspaceId: "0")
            return !scene.server.exists("/recycle_bin/old.txt")
        },
        OperationCase("putContent", "put_content") { scene in
            try await scene.client.putContent(workspaceId: "0", path: "/a.txt", content: Data("<new> &lt;".utf8))
            return scene.server.contents(of: "/a.txt") == Array("<new> &lt;".utf8)
        },
    ]

    private static let transfers = [
        OperationCase("uploadNodes, file", "upload", logsInFirst: true) { scene in
            let file = try scene.file("up", Array("uploaded".utf8))
            let params = UploadNodesRequestParams(workspaceId: "0", dir: "/docs", fileName: "up 100%.txt")
            let answer = try await scene.client.uploadNodes(params, file: file)
            return answer.nodesDiff?.added.map(\.path) == ["/docs/up 100%.txt"]
                && scene.server.contents(of: "/docs/up 100%.txt") == Array("uploaded".utf8)
        },
        OperationCase("uploadNodes, data", "upload", logsInFirst: true) { scene in
            let params = UploadNodesRequestParams(workspaceId: "0", dir: "/", fileName: "a.txt")
            try await scene.client.uploadNodes(params, data: Data("replaced".utf8))
            return scene.server.contents(of: "/a.txt") == Array("replaced".utf8)
        },
        OperationCase("uploadNodes, parts", "upload", count: 3, logsInFirst: true, asksFirst: true) { scene in
            let content = (0..<2500).map { UInt8(truncatingIfNeeded: $0) }
            var options = scene.client.options
            options.uploadPartSize = 1000
            let client = PydioClient(server: scene.server.url, params: scene.params, options: options)
            let params = UploadNodesRequestParams(workspaceId: "0", dir: "/docs", fileName: "large")
            try await client.uploadNodes(params, file: try scene.file("large", content))
            return scene.server.contents(of: "/docs/large") == content
                && scene.server.paths().filter { $0.hasPrefix("/docs/") } == ["/docs/b.txt", "/docs/large"]
        },
        OperationCase("downloadNodes, file", "download", asksFirst: true, survivesCut: true) { scene in
            let file = try scene.file("down")
            try await scene.client.downloadNodes(
                DownloadNodesRequestParams(workspaceId: "0", nodes: ["/a.txt"]), to: file)
            return try Data(contentsOf: file) == Data("hello".utf8) && scene.files == ["down"]
        },
        OperationCase("downloadNodes, folder", "download", asksFirst: true, survivesCut: true) { scene in
            let file = try await scene.client.downloadNodes(
                DownloadNodesRequestParams(workspaceId: "0", nodes: ["/docs"]), intoFolder: scene.folder)
            return file.lastPathComponent == "docs.zip" && scene.files == ["docs.zip"]
        },
        OperationCase("downloadNodes, memory", "download") { scene in
            try await scene.client.downloadNodes(DownloadNodesRequestParams(workspaceId: "0", nodes: ["/a.txt"]))
                == Data("hello".utf8)
        },
    ]

    private static let sharing = [
        OperationCase("bookmarks", "get_bookmarks") { try await $0.client.bookmarks(workspaceId: "0").isEmpty },
        OperationCase("addBookmark", "get_bookmarks") { scene in
            try await scene.client.addBookmark(workspaceId: "0", path: "/docs", title: "D & é")
                == [PydioBookmark(path: "/docs", title: "D & é")]
        },
        OperationCase("renameBookmark", "get_bookmarks") { scene in
            scene.server.act(
                "get_bookmarks", ["bm_action": "add_bookmark", "bm_path": "/docs", "bm_title": "D"], as: "ada")
            return try await scene.client.renameBookmark(workspaceId: "0", path: "/docs", title: "E").map(\.title) == [
                "E"
            ]
        },
        OperationCase("deleteBookmark", "get_bookmarks") { scene in
            scene.server.act(
                "get_bookmarks", ["bm_action": "add_bookmark", "bm_path": "/docs", "bm_title": "D"], as: "ada")
            return try await scene.client.deleteBookmark(workspaceId: "0", path: "/docs").isEmpty
        },
        OperationCase("loadSharedElementData", "load_shared_element_data") { scene in
            scene.server.act("share", ["file": "/a.txt"], as: "ada")
            let data = try await scene.client.loadSharedElementData(
                workspaceId: "0", path: "/a.txt", elementType: "file")
            return String(decoding: data, as: UTF8.self).contains("element_id")
        },
        OperationCase("share", "share") { scene in
            let data = try await scene.client.share(
                workspaceId: "0", nodes: ["/a.txt"], parameters: ["sub_action": "delegate_repo"])
            return String(decoding: data, as: UTF8.self).contains("/public/")
        },
        OperationCase("createPublicLink", "share", asksTwice: true) { scene in
            let params = PublicLinkRequestParams(workspaceId: "0", path: "/a.txt")
            return try await scene.client.createPublicLink(params).path.hasPrefix("/public/")
        },
        OperationCase("unshare", "unshare", isSilent: true) { scene in
            scene.server.act("share", ["file": "/a.txt"], as: "ada")
            let before = scene.server.shareCount(of: "/a.txt")
            try await scene.client.unshare(workspaceId: "0", path: "/a.txt", elementType: "file")
            return scene.server.shareCount(of: "/a.txt") < before
        },
        OperationCase("publicLinks", "load_shared_element_data") { scene in
            let link = scene.makeLink()
            return try await scene.client.publicLinks(workspaceId: "0", path: "/a.txt").map(\.linkId) == [link]
        },
        OperationCase("changePublicLink", "load_shared_element_data", count: 2) { scene in
            var changes = PublicLinkChanges()
            changes.password = .set("s3cret")
            let link = try await scene.client.changePublicLink(
                workspaceId: "0", path: "/a.txt", linkId: scene.makeLink(), changes: changes)
            return link.hasPassword
        },
        OperationCase("revokePublicLink", "load_shared_element_data", count: 2) { scene in
            let link = scene.makeLink()
            try await scene.client.revokePublicLink(workspaceId: "0", path: "/a.txt", linkId: link)
            return !scene.server.publicLinks(of: "/a.txt").contains { $0.id == link }
        },
    ]

    private static let changes = [
        OperationCase("changes", "changes") { scene in
            let first = try await scene.client.changes(workspaceId: "0", since: 0)
            return first.lastSequence > 0 && !first.isReset
        },
        OperationCase("registerChannel", "client_register_channel", isSilent: true) { scene in
            try await scene.client.registerChannel(workspaceId: "0", clientId: "c1")
            return scene.server.pollers == ["c1"]
        },
        OperationCase("consumeChannel", "client_consume_channel") { scene in
            scene.server.act("client_register_channel", ["channel": "nodes:0", "client_id": "c1"], as: "ada")
            scene.server.post("<reload_bookmarks/>")
            return try await scene.client.consumeChannel(workspaceId: "0", clientId: "c1").last == .reloadBookmarks
        },
        OperationCase("unregisterChannel", "client_unregister_channel", isSilent: true) { scene in
            scene.server.act("client_register_channel", ["channel": "nodes:0", "client_id": "c1"], as: "ada")
            try await scene.client.unregisterChannel(workspaceId: "0", clientId: "c1")
            return scene.server.pollers.isEmpty
        },
    ]

    private static let plugins = [
        OperationCase("search", "search") { scene in
            try await scene.client.search(workspaceId: "0", query: "b.t*").map(\.path) == ["/docs/b.txt"]
        },
        OperationCase("statWithHash", "stat_hash") { scene in
            try await scene.client.statWithHash(workspaceId: "0", path: "/a.txt")?.contentHash
                == "5d41402abc4b2a76b9719d911017c592"
        },
        OperationCase("quota", "monitor_quota") { scene in
            try await scene.client.quota(workspaceId: "0") == PydioQuota(used: 13, total: nil)
        },
        OperationCase("activities", "get_my_feed") { scene in
            try await scene.client.activities(workspaceId: "0").map(\.path) == ["/recycle_bin/old.txt"]
        },
        OperationCase("copy, between workspaces", "cross_copy", asksFirst: true) { scene in
            try await scene.client.copy(
                workspaceId: "0", path: "/docs", to: "/d2", inWorkspace: FakePydioWorkspace.teamID)
            return scene.server.paths(in: FakePydioWorkspace.teamID) == ["/d2", "/d2/b.txt"]
        },
        OperationCase("move, between workspaces", "cross_copy", asksFirst: true) { scene in
            try await scene.client.move(
                workspaceId: "0", path: "/docs", to: "/docs", inWorkspace: FakePydioWorkspace.teamID)
            return scene.server.paths(in: FakePydioWorkspace.teamID) == ["/docs", "/docs/b.txt"]
                && !scene.server.exists("/docs")
        },
        OperationCase("compress", "compress", asksFirst: true) { scene in
            try await scene.client.compress(workspaceId: "0", nodes: ["/a.txt", "/docs"], to: "/all.zip") == "/all.zip"
                && scene.server.contents(of: "/all.zip")?.starts(with: Array("PK".utf8)) == true
        },
        OperationCase("extract", "copy", asksFirst: true) { scene in
            scene.server.act("compress", ["nodes[]": "/a.txt", "archive_name": "all.zip", "dir": "/"], as: "ada")
            return try await scene.client.extract(workspaceId: "0", archive: "/all.zip", into: "/docs")
                == ["/docs/a.txt"]
        },
    ]

    private static let notes = [
        OperationCase("chmod", "chmod") { scene in
            try await scene.client.chmod(workspaceId: "0", nodes: ["/a.txt"], mode: 0o640)
            return try await scene.client.node(workspaceId: "0", path: "/a.txt")?.attributes["file_perms"] == "0640"
        },
        OperationCase("purge", "purge", isSilent: true, asksFirst: true) { scene in
            try await scene.client.purge(workspaceId: "0")
            return scene.server.exists("/docs/b.txt")
        },
        OperationCase("setMetadata", "edit_user_meta", asksFirst: true) { scene in
            try await scene.client.setMetadata(workspaceId: "0", path: "/a.txt", values: ["tags": "a, <b> & \"c\""])
            return try await scene.client.node(workspaceId: "0", path: "/a.txt")?.metadataFields.map(\.value) == [
                "a, <b> & \"c\"", "",
            ]
        },
        OperationCase("comments", "load_comments_feed") { scene in
            scene.server.act("post_comment", ["file": "/a.txt", "content": "One"], as: "ada")
            return try await scene.client.comments(workspaceId: "0", path: "/a.txt").first?.content == "One"
        },
        OperationCase("addComment", "post_comment") { scene in
            let comment = try await scene.client.addComment(workspaceId: "0", path: "/a.txt", content: "Ü <b> \"&\"")
            return comment.author == "ada" && comment.content == "Ü <b> \"&\"" && comment.date != nil
        },
        OperationCase("lock", "sl_lock", asksFirst: true) { scene in
            try await scene.client.lock(workspaceId: "0", path: "/docs")
            return try await scene.client.node(workspaceId: "0", path: "/docs")?.isLockedByUser == true
        },
        OperationCase("unlock", "sl_lock", asksFirst: true) { scene in
            scene.server.act("sl_lock", ["file": "/docs"], as: "ada")
            try await scene.client.unlock(workspaceId: "0", path: "/docs")
            return try await scene.client.node(workspaceId: "0", path: "/docs")?.isLocked == false
        },
        OperationCase("setWatch", "toggle_watch") { scene in
            try await scene.client.setWatch(workspaceId: "0", path: "/docs", to: .both)
            return try await scene.client.node(workspaceId: "0", path: "/docs")?.watch == .both
        },
    ]

    private static let account = [
        OperationCase("changePassword", "pass_change", asksFirst: true, asksForSeed: true) { scene in
            try await scene.client.changePassword(from: PydioScene.password, to: "a new password")
            return scene.params.user(forServer: scene.server.url)?.password == "a new password"
        },
        OperationCase("createUser", "edit", asksFirst: true, asksForSeed: true) { scene in
            scene.server.configure { $0.users[0].isAdministrator = true }
            try await scene.client.createUser(userId: "carol", password: "a long secret")
            return scene.server.configuration.users.contains { $0.id == "carol" }
        },
        OperationCase("createWorkspace", "edit", asksFirst: true) { scene in
            scene.server.configure { $0.users[0].isAdministrator = true }
            let params = CreateWorkspaceRequestParams(label: "New", path: "/srv/new")
            return try await scene.client.createWorkspace(params).map { !$0.isEmpty } ?? false
        },
    ]
}
