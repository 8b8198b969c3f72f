import CommandKit
import Foundation
import PydioSDK

/// Downloads files and folders of a workspace. Never writes outside the requested folder.
struct WorkspaceDownload: Sendable {
    /// Smaller files restart from the beginning, because resuming costs another request.
    private static let resumableSize: Int64 = 1 << 20

    let workspace: PydioWorkspace
    let replaces: Bool
    /// Whether to compare the received data with the server's information.
    var verifies = false
    let report: TransferReport

    /// Downloads a file.
    ///
    /// - Parameter isAlone: Whether it is the only requested file. A partial download is then always kept.
    func file(_ path: String, size: Int64, to file: URL, isAlone: Bool = true) async throws {
        switch LocalNode(file) {
        case nil: break
        case .folder: throw CommandFailure(.badData, "\(file.path) is a folder")
        case .file, .link, .other:
            guard replaces else { throw CommandFailure(.badData, "\(file.path) already exists: --force replaces it") }
        }
        guard LocalNode(file.deletingLastPathComponent().resolvingSymlinksInPath()) == .folder else {
            throw CommandFailure(.badData, "there is no folder \(file.deletingLastPathComponent().path)")
        }
        let expected = verifies ? try await workspace.contentHash(of: path) : nil
        try await workspace.client.downloadNodes(
            DownloadNodesRequestParams(workspaceId: workspace.id, nodes: [path]), to: file,
            keepsPart: isAlone || size >= Self.resumableSize, onProgress: report.progress(file.lastPathComponent))
        try expected?.requireEqual(try ContentHash(of: file), workspace.remote(path), file.path)
        report.done(
            TransferRecord(
                kind: .downloaded, workspaceID: workspace.id, path: path, file: file.path,
                size: (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber)?.int64Value),
            file.path)
    }

    /// Copies a file to standard output, through a temporary one, so that a partial download is not taken for the
    /// whole.
    ///
    /// - Returns: Whether everything was written.
    @discardableResult
    func toStandardOutput(_ remote: RemotePath) async throws -> Bool {
        let expected = verifies ? try await workspace.contentHash(of: remote.path) : nil
        let file = try await TemporaryFile.holding { part in
            try await workspace.client.downloadNodes(
                DownloadNodesRequestParams(workspaceId: workspace.id, nodes: [remote.path]), to: part,
                onProgress: report.progress(remote.name))
            try expected?.requireEqual(try ContentHash(of: part), "\(remote)", "what has come")
        }
        report.pause()
        return try file.copyToStandardOutput()
    }

    /// Downloads the contents of a folder with all subfolders, except the recycle bin.
    func folder(_ path: String, to folder: URL) async throws {
        switch LocalNode(folder) {
        case .folder: break
        case nil:
            guard mkdir(folder.path, 0o777) == 0 else {
                throw CommandFailure(
                    .badData, "the folder \(folder.path) cannot be created: \(String(cString: strerror(errno)))")
            }
        case .file, .link, .other:
            // A link would lead elsewhere.
            throw CommandFailure(.badData, "\(folder.path) exists and is not a folder")
        }
        for child in try await RemoteChild.all(of: path, in: workspace) {
            let target = folder.appending(path: child.name, directoryHint: .notDirectory)
            guard child.response.isLeaf else {
                guard child.isOpened else { continue }
                try await report.skipping(workspace.remote(child.path)) {
                    try await self.folder(child.path, to: target)
                }
                continue
            }
            try await report.skipping(workspace.remote(child.path)) {
                try await file(child.path, size: child.response.size, to: target, isAlone: false)
            }
        }
    }
}
