import Basics
import Foundation
import PydioSDK
import PydioSync
import PydioTestSupport
import Testing

/// A server, and a folder that is synced with its workspace "Plans".
final class SyncScene: Sendable {
    let server: FakePydioServer
    let client: PydioClient
    let folder: URL
    private let heard = Lock<[PydioSyncEvent]>([])

    /// Servers of both generations, with and without a log of changes.
    static let servers: [FakePydioServer.Configuration] = [
        .init(mode: .v5_2), .init(mode: .v8), without(.v5_2), without(.v8),
    ]

    private static func without(_ mode: FakePydioMode) -> FakePydioServer.Configuration {
        var configuration = FakePydioServer.Configuration(mode: mode)
        configuration.hasChanges = false
        return configuration
    }

    init(
        _ configuration: FakePydioServer.Configuration = .init(),
        options change: (inout PydioClientOptions) -> Void = { _ in }
    ) async throws {
        server = try await FakePydioServer.start(configuration)
        let params = ServersParamsManager()
        params.setUser(User(userid: "ada", password: "open sesame"), forServer: server.url)
        var options = PydioClientOptions()
        options.proxy = ""
        options.completionQueue = DispatchQueue(label: "test")
        options.downloadResumptions = 0
        change(&options)
        client = PydioClient(server: server.url, params: params, options: options)
        folder = FileManager.default.temporaryDirectory.appending(path: "pydio-sync-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func sync(
        _ remote: String = "/", account: String = "ada", _ change: (inout PydioSyncOptions) -> Void = { _ in }
    ) -> PydioFolderSync {
        var options = PydioSyncOptions()
        change(&options)
        return PydioFolderSync(
            client: client, workspaceId: "0", remoteFolder: remote, localFolder: folder, account: account,
            options: options)
    }

    @discardableResult
    func run(
        _ remote: String = "/", _ change: (inout PydioSyncOptions) -> Void = { _ in }
    ) async throws -> PydioSyncSummary {
        try await sync(remote, change).run { event in self.heard.withLock { $0.append(event) } }
    }

    /// The steps since the last call: `upload a.txt`.
    func takeSteps() -> [String] {
        heard.withLock { heard in
            defer { heard = [] }
            return heard.compactMap { if case .done(let step) = $0 { "\(step.kind) \(step.path)" } else { nil } }
        }
    }

    // MARK: Both sides

    func local(_ path: String) -> URL { folder.appending(path: path, directoryHint: .notDirectory) }

    func write(_ text: String, to path: String) throws {
        try FileManager.default.createDirectory(
            at: local(path).deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: local(path))
    }

    func remove(_ path: String) throws { try FileManager.default.removeItem(at: local(path)) }

    func text(_ path: String) -> String? { try? String(contentsOf: local(path), encoding: .utf8) }

    /// Changes a file on the server as another client, a second after the last change.
    func change(_ path: String, to text: String) {
        server.advanceClock(by: .seconds(1))
        let (folder, name) = (NodeNames.parent(of: path), NodeNames.name(of: path))
        server.act("mkfile", ["dir": folder, "filename": name, "content": ""], as: "ada")
        server.act(
            "put_content", ["file": path, "content": Data(text.utf8).base64EncodedString(), "encode": "base64"],
            as: "ada")
    }

    func delete(_ path: String) { server.act("delete", ["nodes[]": path], as: "ada") }

    func remoteText(_ path: String) -> String? {
        server.contents(of: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Paths and contents, without the sync's own folder.
    var localTree: [String: String] {
        var tree: [String: String] = [:]
        for path in FileManager.default.enumerator(atPath: folder.path)?.compactMap({ $0 as? String }) ?? [] {
            guard path != ".pydio-sync", !path.hasPrefix(".pydio-sync/") else { continue }
            tree["/" + path] = text(path) ?? "folder"
        }
        return tree
    }

    var remoteTree: [String: String] {
        var tree: [String: String] = [:]
        for path in server.paths() where !path.hasPrefix("/recycle_bin") { tree[path] = remoteText(path) ?? "folder" }
        return tree
    }

    /// Leftover parts of downloads.
    var parts: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path + "/.pydio-sync/parts")) ?? []
    }
}

enum NodeNames {
    static func name(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? "" }

    static func parent(of path: String) -> String {
        let names = path.split(separator: "/").dropLast()
        return "/" + names.joined(separator: "/")
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
