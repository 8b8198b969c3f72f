import Basics
import Foundation
import PydioSDK
import PydioTestSupport
import Testing
import Transport

/// A server with some files, and a client that logs in as `ada`.
struct PydioScene: Sendable {
    static let password = "open sesame"

    let server: FakePydioServer
    let client: PydioClient
    let params: ServersParamsManager
    /// Holds local files; ``end()`` deletes it.
    let folder: URL

    init(
        _ configuration: FakePydioServer.Configuration = FakePydioServer.Configuration(), user: String = "ada",
        password: String = PydioScene.password, options change: (inout PydioClientOptions) -> Void = { _ in }
    ) async throws {
        server = try await FakePydioServer.start(configuration)
        params = ServersParamsManager()
        params.setUser(User(userid: user, password: password), forServer: server.url)
        var options = PydioClientOptions()
        options.proxy = ""
        options.completionQueue = DispatchQueue(label: "test")
        change(&options)
        client = PydioClient(server: server.url, params: params, options: options)
        folder = FileManager.default.temporaryDirectory.appending(path: "pydio-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try server.addFile("/a.txt", Array("hello".utf8))
        try server.addFile("/docs/b.txt", Array("world".utf8))
        try server.addFile("/old.txt", Array("old".utf8))
        server.act("delete", ["nodes[]": "/old.txt"], as: "ada")
    }

    /// Runs `body` with a scene.
    static func with<Value>(
        _ configuration: FakePydioServer.Configuration = FakePydioServer.Configuration(), user: String = "ada",
        password: String = PydioScene.password, options change: (inout PydioClientOptions) -> Void = { _ in },
        _ body: (PydioScene) async throws -> Value
    ) async throws -> Value {
        let scene = try await PydioScene(configuration, user: user, password: password, options: change)
        do {
            let value = try await body(scene)
            await scene.end()
            return value
        } catch {
            await scene.end()
            throw error
        }
    }

    func end() async {
        await server.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Makes the only public link to a file, and returns its name.
    func makeLink() -> String {
        let path = "/a.txt"
        for link in server.publicLinks(of: path) {
            server.act("unshare", ["file": path, "element_id": link.id], as: "ada")
        }
        let parameters: KeyValuePairs = [
            "file": path, "sub_action": "create_minisite", "repo_label": "a.txt", "simple_right_read": "on",
            "simple_right_download": "on",
        ]
        server.act("share", parameters, as: "ada")
        return server.publicLinks(of: path).last?.id ?? ""
    }

    /// Creates a local file.
    func file(_ name: String, _ content: [UInt8] = []) throws -> URL {
        let file = folder.appending(path: name)
        if !content.isEmpty { try Data(content).write(to: file) }
        return file
    }

    /// Names in the local folder, including hidden files.
    var files: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }
}

/// The error that `body` throws.
func failure(_ body: () async throws -> Void) async -> PydioError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? PydioError ?? PydioError(.network, "another error: \(error)")
    }
}
