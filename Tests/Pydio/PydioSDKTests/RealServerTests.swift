import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// How real servers differ from their documentation (section 0 of the protocol's notes).
@Suite(.overSockets)
struct RealServerTests {
    private static func params(_ name: String, dir: String = "/") -> UploadNodesRequestParams {
        UploadNodesRequestParams(workspaceId: "0", dir: dir, fileName: name)
    }

    // MARK: Names

    @Test(arguments: FakePydioMode.allCases)
    func anUploadReplacesNoFileWhoseNameItsOwnBecomes(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode), options: { $0.uploadPartSize = 1000 }) {
            scene in
            try scene.server.addFile("/plan.txt", Array("theirs".utf8))
            let answer = try await scene.client.uploadNodes(Self.params("pl\"an.txt"), data: Data("mine".utf8))
            #expect(answer.nodesDiff?.added.map(\.fullPath) == ["/plan-1.txt"])
            let large = try scene.file("large", [UInt8](repeating: 1, count: 2500))
            let parts = try await scene.client.uploadNodes(Self.params("pla|n.txt"), file: large)
            #expect(parts.nodesDiff?.updated.map(\.fullPath) == ["/plan-2.txt"])
            #expect(scene.server.contents(of: "/plan.txt") == Array("theirs".utf8))
            #expect(scene.server.contents(of: "/plan-1.txt") == Array("mine".utf8))
            #expect(scene.server.size(of: "/plan-2.txt") == 2500)
            var refused = Self.params("p?lan.txt")
            refused.replaces = false
            let error = await failure { try await scene.client.uploadNodes(refused, data: Data("mine".utf8)) }
            #expect(error?.code == .file)
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func answersTellTheNameThatTheServerMade(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let folder = try await scene.client.mkdir(
                MkDirRequestParams(workspaceId: "0", dir: "/", dirname: "d\"q"))
            #expect(folder.nodesDiff?.added.map(\.fullPath) == ["/dq"])
            let file = try await scene.client.mkfile(workspaceId: "0", dir: "/", fileName: "m?")
            #expect(file.nodesDiff?.added.map(\.fullPath) == ["/m"])
            let renamed = try await scene.client.rename(workspaceId: "0", path: "/m", newName: "x|y")
            #expect(renamed.nodesDiff?.updated.map(\.fullPath) == ["/xy"])
            #expect(renamed.nodesDiff?.updated.first?.originalPath == "/m")
            let hidden = await failure {
                _ = try await scene.client.mkdir(MkDirRequestParams(workspaceId: "0", dir: "/", dirname: ".a"))
            }
            #expect(hidden?.serverMessage == "Forbidden")
        }
    }

    // MARK: Uploads

    @Test(arguments: FakePydioMode.allCases)
    func emptyFilesAreUploaded(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let empty = scene.folder.appending(path: "empty")
            try Data().write(to: empty)
            let answer = try await scene.client.uploadNodes(Self.params("new"), file: empty)
            #expect(answer.nodesDiff?.added.map(\.fullPath) == ["/new"] && scene.server.size(of: "/new") == 0)
            try await scene.client.uploadNodes(Self.params("data"), data: Data())
            #expect(scene.server.size(of: "/data") == 0)
            var refused = Self.params("a.txt")
            refused.replaces = false
            let kept = await failure { try await scene.client.uploadNodes(refused, data: Data()) }
            #expect(kept?.code == .file)
            var both = Self.params("a.txt")
            both.keepsBoth = true
            try await scene.client.uploadNodes(both, data: Data())
            #expect(scene.server.size(of: "/a-1.txt") == 0 && scene.server.size(of: "/a.txt") == 5)
            try await scene.client.uploadNodes(Self.params("a.txt"), file: empty)
            #expect(scene.server.size(of: "/a.txt") == 0 && scene.server.count("upload") == 0)
            #expect(!scene.server.paths().contains { $0.hasSuffix(".upload") })
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func uploadsGoInPartsThatTheServerTakes(mode: FakePydioMode) async throws {
        var configuration = FakePydioServer.Configuration(mode: mode)
        (configuration.uploadLimit, configuration.postLimit) = (1 << 20, (1 << 20) + 100_000)
        try await PydioScene.with(configuration) { scene in
            let content = (0..<(5 << 19)).map { UInt8(truncatingIfNeeded: $0 / 3) }
            let file = try scene.file("large", content)
            for name in ["one", "two"] {
                try await scene.client.uploadNodes(Self.params(name), file: file)
                #expect(scene.server.contents(of: "/\(name)", upTo: .max) == content)
            }
            #expect(scene.server.requests("upload").allSatisfy { $0.uploadSize ?? 0 <= 1 << 20 })
            #expect(scene.server.requests("upload").count == 6)
            let registry = scene.server.count("get_xml_registry") + scene.server.count("state")
            #expect(registry == 1)
        }
    }

    /// A default installation: PHP accepts 2 MB.
    @Test(arguments: FakePydioMode.allCases)
    func aFileThatIsLargerThanPHPTakesArrivesWhole(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            let content = (0..<(5 << 20)).map { UInt8(truncatingIfNeeded: $0 / 3) }
            try await scene.client.uploadNodes(Self.params("new"), file: try scene.file("large", content))
            #expect(scene.server.contents(of: "/new", upTo: .max) == content)
            #expect(scene.server.count("upload") == 3)
        }
    }

    /// Small files are sent without requesting the limit, and so are large ones if the server does not report it.
    @Test func aLimitThatShowsLateIsHeeded() async throws {
        try await PydioScene.with { scene in
            let small = try scene.file("small", [UInt8](repeating: 1, count: 3000))
            scene.server.configure { $0.uploadLimit = 1000 }
            try await scene.client.uploadNodes(Self.params("small"), file: small)
            #expect(scene.server.size(of: "/small") == 3000 && scene.server.count("upload") == 7)
        }
        try await PydioScene.with { scene in
            let large = try scene.file("large", [UInt8](repeating: 1, count: 3 << 20))
            scene.server.configure { ($0.uploadLimit, $0.tellsUploadLimit) = (2 << 20, false) }
            try await scene.client.uploadNodes(Self.params("large"), file: large)
            #expect(scene.server.size(of: "/large") == 3 << 20 && scene.server.count("upload") == 5)
        }
    }

    /// Such a limit is malicious.
    @Test func aLimitOfOneByteMakesNoMillionsOfRequests() async throws {
        var configuration = FakePydioServer.Configuration()
        (configuration.uploadLimit, configuration.tellsUploadLimit) = (1, true)
        try await PydioScene.with(configuration) { scene in
            let file = try scene.file("large", [UInt8](repeating: 1, count: 2 << 20))
            let refused = await failure { try await scene.client.uploadNodes(Self.params("new"), file: file) }
            #expect(refused?.code == .tooLarge)
            // The fake server rejects files above its announced limit, and so rejected the parts.
            #expect(scene.server.requests("upload").allSatisfy { $0.uploadSize ?? 0 >= (2 << 20) / 10_000 })
            #expect(scene.server.count("upload") <= 2)
        }
    }

    /// The limits are unknown until the first part reveals them.
    @Test func uploadsThatTheServerCannotTakeAreExplained() async throws {
        var configuration = FakePydioServer.Configuration()
        (configuration.uploadLimit, configuration.tellsUploadLimit) = (1000, false)
        try await PydioScene.with(configuration) { scene in
            let file = try scene.file("large", [UInt8](repeating: 1, count: 3000))
            let tooLarge = await failure { try await scene.client.uploadNodes(Self.params("new"), file: file) }
            #expect(tooLarge?.code == .tooLarge)
            #expect(tooLarge?.message.contains("3000 bytes are more than the server takes at once") == true)
            #expect(tooLarge?.message.contains("uploadPartSize") == true)
            scene.server.configure { ($0.uploadLimit, $0.postLimit) = (nil, 2000) }
            let notThere = await failure { try await scene.client.uploadNodes(Self.params("new"), file: file) }
            #expect(notThere?.code == .tooLarge && notThere?.message.contains("3000 bytes") == true)
            #expect(!scene.server.exists("/new"))
        }
    }

    // MARK: Downloads

    @Test(arguments: FakePydioMode.allCases)
    func smallFilesComeFromServersThatBufferTheirOutput(mode: FakePydioMode) async throws {
        var configuration = FakePydioServer.Configuration(mode: mode)
        configuration.bufferSize = 4096
        try await PydioScene.with(configuration) { scene in
            let params = DownloadNodesRequestParams(workspaceId: "0", nodes: ["/a.txt"])
            let file = try scene.file("got")
            try await scene.client.downloadNodes(params, to: file)
            #expect(try Data(contentsOf: file) == Data("hello".utf8))
            #expect(try await scene.client.downloadNodes(params) == Data("hello".utf8))
            try scene.server.addFile("/empty")
            let empty = DownloadNodesRequestParams(workspaceId: "0", nodes: ["/empty"])
            #expect(try await scene.client.downloadNodes(empty) == Data())
            let folder = scene.folder.appending(path: "folder")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let named = try await scene.client.downloadNodes(params, intoFolder: folder)
            #expect(named.lastPathComponent == "a.txt")
        }
    }

    @Test func thePartOfAFormerVersionGoes() async throws {
        try await PydioScene.with(options: { $0.downloadResumptions = 0 }) { scene in
            let params = DownloadNodesRequestParams(workspaceId: "0", nodes: ["/large"])
            let file = try scene.file("large")
            try Data("not ours".utf8).write(to: scene.folder.appending(path: ".large.txt.0123.1-1.part"))
            for size in [300_000, 200_000] {
                try scene.server.addFile("/large", size: size)
                scene.server.inject(.cut(after: 70_000), into: "download")
                _ = await failure { try await scene.client.downloadNodes(params, to: file, keepsPart: true) }
            }
            #expect(scene.files.count == 2 && scene.files[0].contains(".200000-"))
            #expect(scene.files.contains(".large.txt.0123.1-1.part"))
        }
    }

    @Test func theTextOfAnErrorInAPageIsTold() async throws {
        try await PydioScene.with { scene in
            try await scene.client.authorize()
            scene.server.inject(.scriptError, into: "download")
            let params = DownloadNodesRequestParams(workspaceId: "0", nodes: ["/a.txt"])
            let download = await failure { _ = try await scene.client.downloadNodes(params) }
            #expect(download?.code == .errorResponse && download?.serverMessage == "Cannot write to the folder")
            scene.server.inject(.scriptError, into: "mkdir")
            let folder = await failure {
                _ = try await scene.client.mkdir(MkDirRequestParams(workspaceId: "0", dir: "/", dirname: "a"))
            }
            #expect(folder?.serverMessage == "Cannot write to the folder")
        }
    }

    // MARK: Key pairs

    @Test func theTopOfAWorkspaceIsListedWithAKeyPair() async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: .v8)) { scene in
            let top = try await scene.client.listNodes(ListNodesRequestParams(workspaceId: "0"))
            #expect(top.first?.children?.map(\.fullPath) == ["/docs", "/a.txt", "/recycle_bin"])
            #expect(scene.server.requests("ls").last?.rawPath == "/api/0/ls/")
        }
    }

    @Test func nodesAreDeletedWithAKeyPair() async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: .v8)) { scene in
            try await scene.client.deleteNodes(DeleteNodesRequestParams(workspaceId: "0", nodes: ["/a.txt"]))
            try await scene.client.deleteNodes(
                DeleteNodesRequestParams(workspaceId: "0", nodes: ["/docs/b.txt", "/docs"]))
            #expect(
                scene.server.paths() == ["/recycle_bin"]
                    + ["a.txt", "b.txt", "docs", "old.txt"].map { "/recycle_bin/" + $0 })
        }
    }

    @Test func loggingOutIsNoSuccessUnlessTheServerSaysSo() async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: .v8)) { scene in
            _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            let pair = try #require(scene.params.keystoreToken(forServer: scene.server.url))
            scene.server.inject(.emptyBody, into: "keystore_revoke_tokens")
            let silent = await failure { try await scene.client.logout() }
            #expect(silent?.code == .receivedNotExpectedAnswer)
            scene.params.setKeystoreToken(pair, forServer: scene.server.url)
            try await scene.client.logout()
            scene.params.setKeystoreToken(pair, forServer: scene.server.url)
            scene.server.forgetRequests()
            _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            #expect(scene.server.count("keystore_generate_auth_token") == 1)  // the old one is refused
        }
    }

    /// 5.2.5 requires clear passwords by default, and its REST interface has no key store.
    @Test func anOlderServerWithClearPasswordsHasNoKeyPairs() async throws {
        var configuration = FakePydioServer.Configuration()
        (configuration.seedForm, configuration.hasREST, configuration.hasKeystore) = (.clear, true, false)
        try await PydioScene.with(configuration) { scene in
            let stat = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            #expect(stat?.size == 5)
            #expect(scene.server.count("login") == 1)
            scene.server.expireSessions()
            scene.server.forceCaptcha()
            let error = await failure { _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt") }
            #expect(error?.code == .getSeedWithCaptcha)  // with a numeric seed
            #expect(scene.params.seed(forServer: scene.server.url) == "-1")
        }
    }

    /// Other clients may be logging in with the same cookie: each seed replaces the one before.
    @Test func aLoginHasASessionOfItsOwn() async throws {
        try await PydioScene.with { scene in
            _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            let old = scene.server.requests("stat").last?.session
            scene.server.expireSessions()
            scene.server.forgetRequests()
            _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            let login = try #require(scene.server.requests("login").last)
            #expect(login.session != nil && login.session != old)
            #expect(scene.server.requests("ping").first?.session == nil)
        }
    }
}
