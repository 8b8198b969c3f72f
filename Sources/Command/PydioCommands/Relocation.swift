import ArgumentParser
import Basics
import CommandKit
import PydioSDK

/// Moves or copies to a target that may have another name or be in another workspace.
struct Relocation: Sendable {
    /// The workspace of the sources.
    let origin: PydioWorkspace
    /// The workspace of the target.
    let workspace: PydioWorkspace
    let isMove: Bool
    let replaces: Bool
    let report: TransferReport

    /// Checks the arguments of `mv` and `cp`: all sources are in one workspace.
    static func validate(_ paths: [RemotePath]) throws(ValidationError) {
        guard paths.count > 1 else { throw ValidationError("Give a source and a target.") }
        guard Set(paths.dropLast().map(\.workspace)).count == 1 else {
            throw ValidationError("All sources must be in one workspace.")
        }
        guard !paths.dropLast().contains(where: \.isTop) else {
            throw ValidationError("The top of a workspace cannot be moved or copied.")
        }
        guard Set(texts: paths.dropLast().map(\.name)).count == paths.count - 1 else {
            throw ValidationError("Two sources with the same name cannot go into one folder.")
        }
    }

    static func run(
        _ paths: [RemotePath], of account: PydioAccount, isMove: Bool, replaces: Bool, _ report: TransferReport
    ) async throws {
        guard let target = paths.last, let source = paths.first else { return }
        let workspaces = try await account.workspaces()
        let relocation = Relocation(
            origin: try PydioWorkspace.named(source.workspace, among: workspaces),
            workspace: try PydioWorkspace.named(target.workspace, among: workspaces), isMove: isMove,
            replaces: replaces, report: report)
        try relocation.requireWay()
        try await relocation.run(Array(paths.dropLast()), to: target)
        try report.end()
    }

    private var isBetweenWorkspaces: Bool { origin.id != workspace.id }

    /// Throws if the server does not copy between the two workspaces, before changing anything.
    private func requireWay() throws(CommandFailure) {
        guard isBetweenWorkspaces else { return }
        for workspace in [origin, workspace] where !workspace.info.allowsCrossCopy {
            throw CommandFailure(
                .unavailable,
                "the server does not offer \(isMove ? "moves" : "copies") between \(origin.name) and "
                    + "\(self.workspace.name) (cross_copy): it does not list \(workspace.name) for them. Nothing was "
                    + "changed; get and put work with every workspace")
        }
    }

    /// - Parameters:
    ///   - sources: More than one only with an existing folder as the target.
    ///   - target: A folder to move into, or the new path.
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

    private func relocate(_ source: RemotePath, to wanted: RemotePath) async throws {
        // An unchanged name is not adapted.
        let target = source.name.isExactly(wanted.name) ? wanted : wanted.stored
        _ = try await origin.existingNode(at: source.path)
        guard isBetweenWorkspaces || !target.isWithin(source) else {
            let isSame = target.path.isExactly(source.path)
            throw CommandFailure(
                .badData, isSame ? "\(source) and \(target) are the same" : "\(target) would be inside itself")
        }
        let isReplaced = try await isTaken(target)
        let arrived =
            isReplaced
            ? try await replacing(target) { try await place(source, at: target) } : try await place(source, at: target)
        report.tellName(of: arrived, insteadOf: wanted)
        report.done(
            TransferRecord(
                kind: isMove ? .moved : .copied, workspaceID: workspace.id, path: arrived.path, from: source.path,
                fromWorkspaceID: isBetweenWorkspaces ? origin.id : nil))
    }

    /// Returns whether the target is a file that may be replaced. For other names, servers would invent one or replace
    /// the existing node, each in its own way.
    private func isTaken(_ target: RemotePath) async throws -> Bool {
        switch try await workspace.node(at: target.path) {
        case nil: return false
        case .folder: throw CommandFailure(.badData, "\(target) already exists")
        case .file:
            guard replaces else { throw CommandFailure(.badData, "\(target) already exists: --force replaces it") }
            return true
        }
    }

    // MARK: Replacing

    /// Moves a file aside until another one has taken its place, and back if that fails. Both happen even if the user
    /// has interrupted the command.
    private func replacing(
        _ target: RemotePath, _ place: () async throws -> RemotePath
    ) async throws -> RemotePath {
        // Not a hidden name: servers refuse those.
        var aside = target.parent.appending("old-\(UInt32.random(in: .min ... .max))-\(target.name)").stored
        let arrived: RemotePath
        do {
            aside = try await rename(target, to: aside)
            arrived = try await place()
        } catch {
            await Task { [aside] in await putBack(aside, to: target) }.value
            throw error
        }
        await Task { [aside] in await delete(aside, replacedBy: target) }.value
        return arrived
    }

    private func putBack(_ aside: RemotePath, to target: RemotePath) async {
        do {
            guard try await workspace.node(at: aside.path) != nil else { return }  // it was never moved
            _ = try await rename(aside, to: target)
        } catch {
            report.failed("what was \(target) may now be \(aside): \(error)", .unavailable)
        }
    }

    private func delete(_ aside: RemotePath, replacedBy target: RemotePath) async {
        do {
            try await workspace.client.deleteNodes(
                DeleteNodesRequestParams(workspaceId: workspace.id, nodes: [aside.path]))
        } catch {
            report.failed("what was \(target) is still there as \(aside): \(error)", .unavailable)
        }
    }

    // MARK: New nodes

    /// - Returns: Its new path.
    private func place(_ source: RemotePath, at target: RemotePath) async throws -> RemotePath {
        let (client, id) = (workspace.client, workspace.id)
        if isBetweenWorkspaces {
            let path =
                isMove
                ? try await client.move(workspaceId: origin.id, path: source.path, to: target.path, inWorkspace: id)
                : try await client.copy(workspaceId: origin.id, path: source.path, to: target.path, inWorkspace: id)
            return target.parent.appending(NodeName.child(path, of: target.parent.path) ?? target.name)
        }
        if isMove, source.parent.path.isExactly(target.parent.path) { return try await rename(source, to: target) }
        if source.name.isExactly(target.name) {
            let answer =
                isMove
                ? try await client.move(workspaceId: id, nodes: [source.path], destination: target.parent.path)
                : try await client.copy(workspaceId: id, nodes: [source.path], destination: target.parent.path)
            return try workspace.arrival(answer, at: target)
        }
        let path =
            isMove
            ? try await client.move(workspaceId: id, path: source.path, to: target.path)
            : try await client.copy(workspaceId: id, path: source.path, to: target.path)
        return target.parent.appending(NodeName.child(path, of: target.parent.path) ?? target.name)
    }

    private func rename(_ node: RemotePath, to target: RemotePath) async throws -> RemotePath {
        let answer = try await workspace.client.rename(
            workspaceId: workspace.id, path: node.path, newName: target.name)
        return try workspace.arrival(answer, at: target)
    }
}
