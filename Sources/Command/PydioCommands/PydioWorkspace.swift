package import CommandKit
import Foundation
import PydioSDK

/// A workspace for use by commands.
package struct PydioWorkspace: Sendable {
    let info: WorkspaceResponse
    let client: PydioClient

    init(_ info: WorkspaceResponse, _ client: PydioClient) {
        (self.info, self.client) = (info, client)
    }

    package var id: String { info.workspaceId }

    /// The name for users.
    var name: String { info.slug ?? info.workspaceId }

    /// Returns the notation for users.
    func remote(_ path: String) -> String { "\(name):\(path)" }

    /// Finds a workspace by id, slug or label, preferring a label in the same case.
    package static func named(_ name: String, among workspaces: [PydioWorkspace]) throws(CommandFailure)
        -> PydioWorkspace
    {
        if let workspace = workspaces.first(where: { $0.id == name })
            ?? workspaces.first(where: { $0.info.slug == name })
        {
            return workspace
        }
        let exact = workspaces.filter { $0.info.label == name }
        let found = exact.isEmpty ? workspaces.filter { $0.info.label?.lowercased() == name.lowercased() } : exact
        guard let first = found.first else {
            throw CommandFailure(.badData, "there is no workspace “\(name)”: pusher-cli pydio workspaces lists them")
        }
        guard found.count == 1 else {
            let ids = found.map(\.id).sorted().prefix(5).joined(separator: " ")
            throw CommandFailure(.badData, "\(found.count) workspaces are called “\(name)”; give an id: \(ids)")
        }
        return first
    }

    // MARK: Contents

    /// The kind of a node.
    enum Node: Hashable {
        case folder
        case file(size: Int64, modified: Date?)

        var isFolder: Bool { self == .folder }
    }

    /// Returns `nil` if nothing exists there.
    func node(at path: String) async throws -> Node? {
        if path == "/" { return .folder }
        guard let stat = try await client.stat(workspaceId: id, path: path) else { return nil }
        return stat.isFolder ? .folder : .file(size: stat.size, modified: stat.mTime)
    }

    /// Returns a node that must exist.
    func existingNode(at path: String) async throws -> Node {
        guard let node = try await node(at: path) else {
            throw CommandFailure(.badData, "there is no \(remote(path))")
        }
        return node
    }

    /// Returns a node that must exist, with all of the server's information.
    func listedNode(at remote: RemotePath) async throws -> NodeResponse {
        guard let node = try await client.node(workspaceId: id, path: remote.path) else {
            throw CommandFailure(.badData, "there is no \(remote)")
        }
        return node
    }

    /// Returns the server's change log.
    func changes(since sequence: Int64) async throws -> PydioChangesResponse {
        do {
            return try await client.changes(workspaceId: id, since: sequence)
        } catch let error as PydioError where error.code == .receivedNotExpectedAnswer {
            throw CommandFailure(
                error.exitStatus, "the server does not seem to keep a change log of \(name): \(error)")
        }
    }

    /// Returns all pages of a folder's contents.
    func children(of path: String) async throws -> [NodeResponse] {
        try await client.listAllNodes(ListNodesRequestParams(workspaceId: id, path: path))?.children ?? []
    }

    // MARK: New nodes

    /// - Returns: Its path.
    func makeFolder(_ path: RemotePath) async throws -> RemotePath {
        try arrival(
            try await client.mkdir(MkDirRequestParams(workspaceId: id, dir: path.parent.path, dirname: path.name)),
            at: path)
    }

    /// Returns the actual path of a node intended for `wanted`: servers change names, and only their answer shows it.
    func arrival(_ answer: PydioSuccessResponse, at wanted: RemotePath) throws(CommandFailure) -> RemotePath {
        guard let path = answer.newPath else {
            throw CommandFailure(.unavailable, "the server does not say what it calls \(wanted) now")
        }
        guard let name = NodeName.child(path, of: wanted.parent.path) else {
            throw CommandFailure(
                .unavailable, "the server says that \(wanted) is “\(path.prefix(200))” now, where it cannot be")
        }
        return wanted.parent.appending(name)
    }
}
