import ArgumentParser
import PydioSDK

/// Moving or copying within a workspace to a place that may have another name.
struct Relocation: Sendable {
    let workspace: PydioWorkspace
    let isMove: Bool
    let replaces: Bool
    let report: TransferReport

    /// What `mv` and `cp` take: everything in one workspace.
    static func validate(_ paths: [RemotePath]) throws(ValidationError) {
        guard paths.count > 1 else { throw ValidationError("What, and where to?") }
        guard Set(paths.map(\.workspace)).count == 1 else {
            throw ValidationError("It stays in one workspace: between two there are get and put.")
        }
        guard !paths.dropLast().contains(where: \.isTop) else {
            throw ValidationError("The top of a workspace stays where it is.")
        }
    }

    static func run(
        _ paths: [RemotePath], of account: PydioAccount, isMove: Bool, replaces: Bool, _ report: TransferReport
    ) async throws {
        guard let target = paths.last else { return }
        let workspace = try await account.workspace(target.workspace)
        try await Relocation(workspace: workspace, isMove: isMove, replaces: replaces, report: report)
            .run(Array(paths.dropLast()), to: target)
        try report.end()
    }

    /// - Parameters:
    ///   - sources: Several only into a folder that is there.
    ///   - target: A folder to move into, else the new place.
    private func run(_ sources: [RemotePath], to target: RemotePath) async throws {
        let isInto = try await workspace.node(at: target.path) == .folder
        guard isInto || sources.count == 1 && !target.isFolder else {
            throw CommandFailure(.badData, "there is no folder \(target)")
        }
        for source in sources {
            try await report.skipping("\(source)") {
                try await relocate(source, to: isInto ? target.appending(source.name) : target)
            }
        }
    }

    private func relocate(_ source: RemotePath, to target: RemotePath) async throws {
        _ = try await workspace.existingNode(at: source.path)
        guard !target.isWithin(source) else {
            let isSame = target.path == source.path
            throw CommandFailure(
                .badData, isSame ? "\(source) and \(target) are the same" : "\(target) would be in itself")
        }
        try await makeRoom(at: target)
        let isInPlace = source.parent.path == target.parent.path
        if isMove, isInPlace {
            try await rename(source, to: target)
        } else if source.name == target.name {
            _ = try await transfer(source, to: target.parent)
        } else {
            try await transferRenaming(source, to: target)
        }
        report.done(
            TransferRecord(
                kind: isMove ? .moved : .copied, workspaceID: workspace.id, path: target.path, from: source.path))
    }

    /// Servers would make up another name, or replace what is there, each in its own way.
    private func makeRoom(at target: RemotePath) async throws {
        switch try await workspace.node(at: target.path) {
        case nil: return
        case .folder: throw CommandFailure(.badData, "\(target) is there already")
        case .file:
            guard replaces else { throw CommandFailure(.badData, "\(target) is there already: --force replaces it") }
            try await workspace.client.deleteNodes(
                DeleteNodesRequestParams(workspaceId: workspace.id, nodes: [target.path]))
        }
    }

    /// First into the other folder, and then its name: servers have no call for both.
    private func transferRenaming(_ source: RemotePath, to target: RemotePath) async throws {
        let between = target.parent.appending(source.name)
        if between.path != source.path, try await workspace.node(at: between.path) != nil {
            throw CommandFailure(
                .badData, "\(between) is in the way: what gets another name comes there under its old one first")
        }
        let arrived = try await transfer(source, to: target.parent) ?? between
        do {
            try await rename(arrived, to: target)
        } catch let error as PydioError where error.code != .cancelled {
            throw CommandFailure(error.exitStatus, "\(arrived) did not become \(target.name): \(error)")
        }
    }

    /// - Returns: Where it is then, as far as the server says.
    private func transfer(_ source: RemotePath, to folder: RemotePath) async throws -> RemotePath? {
        let client = workspace.client
        let answer =
            isMove
            ? try await client.move(workspaceId: workspace.id, nodes: [source.path], destination: folder.path)
            : try await client.copy(workspaceId: workspace.id, nodes: [source.path], destination: folder.path)
        guard let path = answer.nodesDiff?.added.first?.fullPath else { return nil }
        return RemoteChild.name(of: path, in: folder.path).map { folder.appending($0) }
    }

    private func rename(_ node: RemotePath, to target: RemotePath) async throws {
        try await workspace.client.rename(workspaceId: workspace.id, path: node.path, newName: target.name)
    }
}
