import Basics
import Foundation
import PydioProtocol
import PydioSDK

/// The folder on the server.
struct RemoteFolder: Sendable {
    let client: PydioClient
    let workspaceId: String
    /// Without a slash at its end unless it is `/`.
    let folder: String
    /// Of everything in it: a server could list without end.
    let maximumNodes: Int

    func place(_ path: SyncPath) -> String { path.remote(below: folder) }

    /// What is at a path; nil for nothing.
    func find(_ path: SyncPath) async throws -> SyncNode? {
        try await client.stat(workspaceId: workspaceId, path: place(path)).map { Self.node($0) }
    }

    func isFolder(_ path: SyncPath) async throws -> Bool {
        // The top of a workspace is there.
        place(path) == "/" ? true : try await find(path) == .folder
    }

    /// The same of a file with the hash of its content, if the server makes one.
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
        // Servers without hashes may say something else.
        let md5 = stat.contentHash.flatMap { $0.wholeMatch(of: /[0-9A-Fa-f]{32}/) == nil ? nil : $0.lowercased() }
        return .file(SyncVersion(size: stat.size, modified: seconds(stat.mTime), md5: md5))
    }

    private static func seconds(_ time: Date?) -> Int64? {
        time.flatMap { Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) }
    }

    /// Fails if the user has no such workspace: servers answer for one that they do not know from another one.
    func check() async throws {
        guard try await client.listWorkspaces().contains(where: { $0.workspaceId == workspaceId }) else {
            throw PydioError(
                .invalidArgument, "the user has no workspace with the id \(workspaceId); nothing was synced")
        }
        guard try await isFolder(.root) else {
            throw PydioError(.file, "the workspace has no folder \(folder); nothing was synced")
        }
    }

    /// What the server's log of changes says; nil if it keeps none.
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

    /// What is in a folder; nil if the user may not read there.
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

    /// The contents of a folder by path; nil if there is no such folder.
    func paths(in folder: SyncPath) async throws -> Set<SyncPath>? {
        guard try await isFolder(folder) else { return nil }
        return try await list(folder).map { Set($0.nodes.keys) } ?? []
    }

    /// Everything in a folder; nil if that is not all that can be known, or more than `maximum`.
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

    /// Everything in the folder.
    ///
    /// - Parameters:
    ///   - old: What was there before `changes`.
    ///   - changes: Only folders in which something has changed are listed; nil lists all of them.
    ///   - listsAll: Whether to list all of them anyway. Hashes are then taken from `changes` still.
    ///   - report: Told of each folder that cannot be listed.
    func tree(
        _ old: [SyncPath: SyncNode] = [:], after changes: SyncFeedChanges? = nil, listsAll: Bool = false,
        _ report: (PydioSyncRefusal) -> Void
    ) async throws -> SyncRemoteTree {
        let partial = listsAll ? nil : changes.flatMap { $0.isOfWhole ? nil : $0 }
        var tree = SyncRemoteTree(partial?.remains(of: old) ?? [:])
        // From the end: those above come before those in them.
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
                // It may have been deleted since it was listed itself, perhaps with the folder that it was in.
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

    /// What is in a folder, or why that cannot be known of this one.
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

    /// - Returns: False if there is such a folder already, with whatever is in it.
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

    /// Gives a file another name in its folder.
    ///
    /// - Returns: False if something has that name.
    func rename(_ path: SyncPath, to name: String) async throws -> Bool {
        do {
            try await client.rename(workspaceId: workspaceId, path: place(path), newName: name)
            return true
        } catch let error as PydioError where error.code == .errorResponse {
            guard try await find(path.parent.appending(name)) != nil else { throw error }
            return false
        }
    }

    /// Deletes something that somebody may want back from the recycle bin.
    func delete(_ path: SyncPath) async throws {
        _ = try await client.deleteNodes(DeleteNodesRequestParams(workspaceId: workspaceId, nodes: [place(path)]))
    }

    /// Deletes what nobody else knows of.
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

    /// Smaller files begin anew after a failure: a part costs a request more.
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
