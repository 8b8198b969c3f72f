import Basics
import Foundation
import PydioProtocol
import PydioSDK

struct RemoteFolder: Sendable {
    let client: PydioClient
    let workspaceId: String
    /// The path without a trailing slash unless it is `/`.
    let folder: String
    /// The maximum number of nodes in it: a server could list endlessly.
    let maximumNodes: Int

    func place(_ path: SyncPath) -> String { path.remote(below: folder) }

    /// Returns the node at a path; `nil` if there is none.
    func find(_ path: SyncPath) async throws -> SyncNode? {
        try await client.stat(workspaceId: workspaceId, path: place(path)).map { Self.node($0) }
    }

    func isFolder(_ path: SyncPath) async throws -> Bool {
        // The root of a workspace always exists.
        place(path) == "/" ? true : try await find(path) == .folder
    }

    /// Returns the node at a path, for a file with the hash of its content if the server provides one.
    func findWithHash(_ path: SyncPath) async throws -> SyncNode? {
        do {
            return try await client.statWithHash(workspaceId: workspaceId, path: place(path)).map { Self.node($0) }
        } catch let error as PydioError
            where [.unsupportedOperation, .receivedNotExpectedAnswer, .unableToParseAnswer, .errorResponse]
            .contains(error.code)
        {
            return try await find(path)
        }
    }

    private static func node(_ stat: PydioNodeStat) -> SyncNode {
        if stat.isFolder { return .folder }
        // Servers without hashes may send something else.
        let md5 = stat.contentHash.flatMap { $0.wholeMatch(of: /[0-9A-Fa-f]{32}/) == nil ? nil : $0.lowercased() }
        return .file(SyncVersion(size: stat.size, modified: seconds(stat.mTime), md5: md5))
    }

    private static func seconds(_ time: Date?) -> Int64? {
        time.flatMap { Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) }
    }

    /// Fails if the user has no such workspace: servers answer requests for an unknown workspace from another one.
    func check() async throws {
        guard try await client.listWorkspaces().contains(where: { $0.workspaceId == workspaceId }) else {
            throw PydioError(
                .invalidArgument, "the user has no workspace with the id \(workspaceId); nothing was synced")
        }
        guard try await isFolder(.root) else {
            throw PydioError(.file, "the workspace has no folder \(folder); nothing was synced")
        }
    }

    /// Returns changes from the server's change log; `nil` if it has none.
    func changes(since sequence: Int64) async throws -> PydioChangesResponse? {
        do {
            return try await client.changes(workspaceId: workspaceId, since: sequence)
        } catch let error as PydioError
            where [.receivedNotExpectedAnswer, .unableToParseAnswer, .errorResponse, .tooLarge].contains(error.code)
        {
            return nil
        }
    }

    // MARK: Listing

    private struct Listing {
        var nodes: [SyncPath: SyncNode] = [:]
        var bins: [SyncPath] = []
    }

    /// Returns the entries of a folder; `nil` if the user may not read it.
    private func list(_ folder: SyncPath) async throws -> Listing? {
        let parent = place(folder)
        guard
            let node = try await client.listAllNodes(ListNodesRequestParams(workspaceId: workspaceId, path: parent))
        else { return nil }
        var listing = Listing()
        for child in node.children ?? [] {
            guard let name = NodeName.child(child.fullPath, of: parent) else {
                throw PydioError(
                    .receivedNotExpectedAnswer,
                    "the server lists “\(child.fullPath.prefix(200))” in \(parent), where it cannot be")
            }
            let path = folder.appending(name)
            if child.isRecycleBin {
                listing.bins.append(path)
            } else {
                listing.nodes[path] =
                    child.isLeaf
                    ? .file(SyncVersion(size: child.size, modified: Self.seconds(child.mTime))) : .folder
            }
        }
        return listing
    }

    /// Returns the paths of a folder's entries; `nil` if there is no such folder.
    func paths(in folder: SyncPath) async throws -> Set<SyncPath>? {
        guard try await isFolder(folder) else { return nil }
        return try await list(folder).map { Set($0.nodes.keys) } ?? []
    }

    /// Returns everything in a folder; `nil` if the listing is incomplete, or has more than `maximum` nodes.
    func contents(below folder: SyncPath, maximum: Int) async throws -> [SyncPath: SyncNode]? {
        var contents: [SyncPath: SyncNode] = [:]
        var waiting = [folder]
        while let next = waiting.popLast() {
            guard let listing = try await list(next), listing.bins.isEmpty else { return nil }
            contents.merge(listing.nodes) { $1 }
            guard contents.count <= maximum else { return nil }
            waiting += listing.nodes.filter { $0.value.isFolder }.keys
        }
        return contents
    }

    /// Returns everything in the folder.
    ///
    /// - Parameters:
    ///   - old: The contents before `changes`.
    ///   - changes: The changes; only folders with changes are listed. `nil` lists all folders.
    ///   - listsAll: Whether to list all folders anyway. Hashes are still taken from `changes`.
    ///   - report: Called for each folder that cannot be listed.
    func tree(
        _ old: [SyncPath: SyncNode] = [:], after changes: SyncFeedChanges? = nil, listsAll: Bool = false,
        _ report: (PydioSyncRefusal) -> Void
    ) async throws -> SyncRemoteTree {
        let partial = listsAll ? nil : changes.flatMap { $0.isOfWhole ? nil : $0 }
        var tree = SyncRemoteTree(partial?.remains(of: old) ?? [:])
        // Taken from the end: parents come before their contents.
        var waiting: [SyncPath] = partial.map { $0.folders.reversed() } ?? [.root]
        var listed: Set<SyncPath> = []
        while let folder = waiting.popLast() {
            guard folder.isRoot || tree.nodes[folder] == .folder, listed.insert(folder).inserted else { continue }
            guard folder.text.utf8.count(where: { $0 == UInt8(ascii: "/") }) < Self.maximumDepth else {
                tree.unlisted.insert(folder)
                report(PydioSyncRefusal(folder, "folders are nested more than \(Self.maximumDepth) deep"))
                continue
            }
            let listing: Listing
            switch try await contents(of: folder) {
            case .success(let found): listing = found
            case .failure(let error):
                guard !folder.isRoot else { throw error }
                // It may have been deleted since it was listed itself, perhaps with its parent.
                switch try await contents(of: folder.parent) {
                case .success(let above) where above.nodes[folder] != .folder: tree.nodes[folder] = nil
                case .failure where !listed.contains(folder.parent):
                    tree.nodes[folder] = nil
                    waiting.append(folder.parent)
                case .success, .failure:
                    tree.unlisted.insert(folder)
                    report(PydioSyncRefusal(folder, "the folder cannot be listed: \(error)"))
                }
                continue
            }
            for (path, node) in listing.nodes {
                switch node {
                case .folder:
                    if tree.nodes[path] != .folder, old[path] != .folder || partial?.isRenewed(path) != false {
                        waiting.append(path)
                    }
                    tree.nodes[path] = .folder
                case .file(let version):
                    tree.nodes[path] = .file(changes?.hashed(version, at: path, before: old[path]) ?? version)
                }
            }
            for bin in listing.bins { tree.unlisted.insert(bin) }
            guard tree.nodes.count <= maximumNodes else {
                throw PydioError(
                    .tooLarge,
                    "the folder on the server holds more than \(maximumNodes) files and folders (maximumNodes); nothing "
                        + "was done")
            }
        }
        tree.removeOrphans()
        return tree
    }

    private static let maximumDepth = 200

    /// Returns the entries of a folder, or the reason why this one cannot be listed.
    private func contents(of folder: SyncPath) async throws -> Result<Listing, PydioError> {
        do {
            guard let listing = try await list(folder) else {
                return .failure(PydioError(.errorResponse, "you may not read \(place(folder))"))
            }
            return .success(listing)
        } catch let error as PydioError where error.concernsOnePath {
            return .failure(error)
        }
    }

    // MARK: Changing

    /// - Returns: False if the folder already exists, with any contents.
    func makeFolder(_ path: SyncPath) async throws -> Bool {
        let params = MkDirRequestParams(workspaceId: workspaceId, dir: place(path.parent), dirname: path.name)
        do {
            let answer = try await client.mkdir(params)
            guard let made = answer.newPath, SyncPath(remote: made, below: folder) != path else { return true }
            throw PydioError(.file, "the server calls it “\(made.prefix(200))”, and it was left there")
        } catch let error as PydioError where error.code == .errorResponse {
            guard try await find(path) == .folder else { throw error }
            return false
        }
    }

    /// Renames a file within its folder.
    ///
    /// - Returns: False if the name is taken.
    func rename(_ path: SyncPath, to name: String) async throws -> Bool {
        do {
            try await client.rename(workspaceId: workspaceId, path: place(path), newName: name)
            return true
        } catch let error as PydioError where error.code == .errorResponse {
            guard try await find(path.parent.appending(name)) != nil else { throw error }
            return false
        }
    }

    /// Deletes a node that a user may want to restore from the recycle bin.
    func delete(_ path: SyncPath) async throws {
        _ = try await client.deleteNodes(DeleteNodesRequestParams(workspaceId: workspaceId, nodes: [place(path)]))
    }

    /// Permanently deletes a node that is only known to the sync.
    func deleteForGood(_ path: SyncPath) async throws {
        var params = DeleteNodesRequestParams(workspaceId: workspaceId, nodes: [place(path)])
        params.additional["force_deletion"] = "true"
        _ = try await client.deleteNodes(params)
    }

    func upload(
        _ file: String, as upload: SyncUpload, onProgress: @escaping @Sendable (PydioTransferProgress) -> Void
    ) async throws {
        try await client.uploadTemporarily(
            workspaceId: workspaceId, dir: place(upload.path.parent), file: URL(filePath: file), name: upload.whole,
            partName: upload.part, onProgress: onProgress)
    }

    /// The minimum size of resumable downloads. Smaller files start over after a failure: a part costs an extra
    /// request.
    private static let resumableSize: Int64 = 1 << 20

    func download(
        _ path: SyncPath, size: Int64, to file: String,
        onProgress: (@Sendable (PydioTransferProgress) -> Void)? = nil
    ) async throws {
        try await client.downloadNodes(
            DownloadNodesRequestParams(workspaceId: workspaceId, nodes: [place(path)]), to: URL(filePath: file),
            keepsPart: size >= Self.resumableSize, onProgress: onProgress)
    }
}
