import Foundation
import PydioSDK

/// Files and folders on their way into a workspace.
struct WorkspaceUpload: Sendable {
    let workspace: PydioWorkspace
    let replaces: Bool
    let report: TransferReport

    /// Puts a file.
    ///
    /// - Parameter source: Its path for people.
    func file(_ file: URL, _ source: String, to target: RemotePath) async throws {
        try await requireRoom(at: target)
        var params = UploadNodesRequestParams(
            workspaceId: workspace.id, dir: target.parent.path, fileName: target.name)
        params.replaces = replaces  // it looks again once all parts of a large file are there
        try await workspace.client.uploadNodes(params, file: file, onProgress: report.progress(target.name))
        report.done(
            TransferRecord(
                kind: .uploaded, workspaceID: workspace.id, path: target.path, file: source,
                size: (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber)?.int64Value),
            "\(target)")
    }

    /// Whether something may come there.
    func requireRoom(at target: RemotePath) async throws {
        switch try await workspace.node(at: target.path) {
        case nil: break
        case .folder: throw CommandFailure(.badData, "\(target) is a folder")
        case .file:
            guard replaces else { throw CommandFailure(.badData, "\(target) already exists: --force replaces it") }
        }
    }

    /// Puts a folder with everything in it. Links to files are followed, others left out, as is what is neither.
    func folder(_ folder: URL, to target: RemotePath) async throws {
        switch try await workspace.node(at: target.path) {
        case .folder: break
        case .file: throw CommandFailure(.badData, "\(target) exists and is not a folder")
        case nil:
            try await workspace.makeFolder(target)
            report.done(TransferRecord(kind: .created, workspaceID: workspace.id, path: target.path))
        }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() else {
            throw CommandFailure(.badData, "the folder \(folder.path) cannot be read")
        }
        for name in names {
            let source = folder.appending(path: name, directoryHint: .notDirectory)
            let child = target.appending(name)
            try await report.skipping(source.path) {
                switch LocalNode(source) {
                case .folder: try await self.folder(source, to: child)
                case .file: try await file(source, source.path, to: child)
                case .link where LocalNode.followed(source) == .file:
                    try await file(source, source.path, to: child)
                case .link, .other, nil:
                    throw CommandFailure(.badData, "\(source.path) is neither a file nor a folder: it is left out")
                }
            }
        }
    }
}
