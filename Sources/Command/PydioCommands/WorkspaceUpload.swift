import Basics
import CommandKit
import Foundation
import PydioSDK

/// Uploads files and folders to a workspace.
struct WorkspaceUpload: Sendable {
    let workspace: PydioWorkspace
    let replaces: Bool
    /// Whether to follow links in folders; otherwise they are skipped.
    let followsLinks: Bool
    /// Whether to compare the uploaded data with what was sent.
    let verifies: Bool
    let report: TransferReport
    /// The source of each remote path: servers remove characters from names, so that two sources may claim the same
    /// one.
    private let sources = Lock<[ByteKey: String]>([:])

    init(
        workspace: PydioWorkspace, replaces: Bool, followsLinks: Bool, verifies: Bool = false, report: TransferReport
    ) {
        (self.workspace, self.replaces, self.followsLinks) = (workspace, replaces, followsLinks)
        (self.verifies, self.report) = (verifies, report)
    }

    /// Uploads a file.
    ///
    /// - Parameter source: The file's path, for messages.
    func file(_ file: URL, _ source: String, to wanted: RemotePath) async throws {
        let target = try await room(at: wanted, for: source)
        var params = UploadNodesRequestParams(
            workspaceId: workspace.id, dir: target.parent.path, fileName: target.name)
        params.replaces = replaces  // checked again once all parts of a large file have arrived
        let answer = try await workspace.client.uploadNodes(
            params, file: file, onProgress: report.progress(target.name))
        let arrived = try workspace.arrival(answer, at: target)
        claim(arrived, for: source)
        report.tellName(of: arrived, insteadOf: wanted)
        if verifies {
            let sent = try ContentHash(of: file)
            try sent.requireEqual(try await workspace.contentHash(of: arrived.path), source, "\(arrived)")
        }
        report.done(
            TransferRecord(
                kind: .uploaded, workspaceID: workspace.id, path: arrived.path, file: source,
                size: (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber)?.int64Value),
            "\(arrived)")
    }

    /// Returns the path to upload to: its own name if the name that the server makes of it is free.
    func room(at wanted: RemotePath, for source: String) async throws -> RemotePath {
        let stored = wanted.stored
        try checkClaim(stored, for: source)
        switch try await workspace.node(at: stored.path) {
        case nil: return wanted
        case .folder: throw CommandFailure(.badData, "\(stored) is a folder")
        case .file:
            guard replaces else { throw CommandFailure(.badData, "\(stored) already exists: --force replaces it") }
            return stored
        }
    }

    /// Checks that the resulting name is valid and not claimed by another source.
    private func checkClaim(_ target: RemotePath, for source: String) throws(CommandFailure) {
        guard !NodeName.isDots(target.name) else {
            throw CommandFailure(
                .badData, "\(source) is left out: the server would call it \(target.name), which is no name")
        }
        guard let other = sources.withLock({ $0[target.path] }) else { return }
        throw CommandFailure(
            .badData, "\(source) is left out: the server would call it \(target), which is what \(other) has become")
    }

    private func claim(_ target: RemotePath, for source: String) {
        sources.withLock { $0[target.path] = source }
    }

    /// Uploads a folder with its contents, except links that are not followed and special files.
    ///
    /// - Parameter ancestors: The enclosing folders, because a link may lead back to one of them.
    func folder(_ folder: URL, to wanted: RemotePath, in ancestors: [LocalIdentity] = []) async throws {
        guard let identity = LocalIdentity(folder), !ancestors.contains(identity) else {
            throw CommandFailure(.badData, "\(folder.path) leads back to a folder that it is in: it is left out")
        }
        let target = try await existingOrNew(wanted, for: folder.path)
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() else {
            throw CommandFailure(.badData, "the folder \(folder.path) cannot be read")
        }
        for name in names {
            let source = folder.appending(path: name, directoryHint: .notDirectory)
            let child = target.appending(name)
            try await report.skipping(source.path) {
                switch followsLinks ? LocalNode.followed(source) : LocalNode(source) {
                case .folder: try await self.folder(source, to: child, in: ancestors + [identity])
                case .file: try await file(source, source.path, to: child)
                case .link:
                    throw CommandFailure(
                        .badData, "\(source.path) is a symbolic link: it is left out; --dereference follows it")
                case nil where name.contains("\u{FFFD}"):
                    throw CommandFailure(.badData, "the name of \(source.path) is not valid UTF-8: it is left out")
                case .other, nil:
                    throw CommandFailure(.badData, "\(source.path) is neither a file nor a folder: it is left out")
                }
            }
        }
    }

    private func existingOrNew(_ wanted: RemotePath, for source: String) async throws -> RemotePath {
        let stored = wanted.stored
        try checkClaim(stored, for: source)
        switch try await workspace.node(at: stored.path) {
        case .folder:
            claim(stored, for: source)
            return stored
        case .file: throw CommandFailure(.badData, "\(stored) exists and is not a folder")
        case nil:
            let made = try await workspace.makeFolder(wanted)
            claim(made, for: source)
            report.tellName(of: made, insteadOf: wanted)
            report.done(TransferRecord(kind: .created, workspaceID: workspace.id, path: made.path))
            return made
        }
    }
}
