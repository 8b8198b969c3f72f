import Basics
public import PydioSDK
import Realtime

/// Keeps a folder on this side and one in a workspace the same.
///
///     let sync = PydioFolderSync(client: client, workspaceId: "0", localFolder: folder, account: "ada")
///     let summary = try await sync.run { event in print(event) }
///
/// Each path is compared with what it was when both sides were last the same. A change beats a deletion; a file that
/// has changed on both sides is kept twice, the local one under a new name such as `plan (conflict 2026-11-24).txt`.
/// Nothing is recorded as the same that changed while it was transferred.
///
/// What is known is kept in a folder `.pydio-sync` in the local one. One process at a time syncs a folder. A process
/// may be killed at any moment: the next run finishes what it began. Uploads arrive under temporary names that begin
/// with `pydio-sync-`; other syncs leave them alone.
///
/// Left out, and told by ``PydioSyncEvent/refused(_:)``: links, what cannot be read or listed, names that servers do
/// not keep as they are, and names that begin with a dot, which servers refuse. Modes, owners and times are not synced.
public final class PydioFolderSync: Sendable {
    private let local: LocalFolder
    private let remote: RemoteFolder
    private let account: String
    private let options: PydioSyncOptions

    /// - Parameters:
    ///   - client: Of the server, and who logs in there.
    ///   - workspaceId: ``WorkspaceResponse/workspaceId``; neither its name nor its slug.
    ///   - remoteFolder: A folder in the workspace. Default: its top. The recycle bin is not synced.
    ///   - localFolder: A folder that exists.
    ///   - account: Whose files they are, for workspaces that have other files for each user: the user's name.
    public init(
        client: PydioClient, workspaceId: String, remoteFolder: String = "/", localFolder: URL, account: String,
        options: PydioSyncOptions = PydioSyncOptions()
    ) {
        let names = remoteFolder.pathSegments
        remote = RemoteFolder(
            client: client, workspaceId: workspaceId, folder: "/" + names.joined(separator: "/"),
            maximumNodes: options.maximumNodes)
        local = LocalFolder(path: localFolder.resolvingSymlinksInPath().standardizedFileURL.pathWithoutSlash)
        (self.account, self.options) = (account, options)
    }

    /// What the state belongs to.
    private var identity: String {
        "\(account) at \(remote.client.serverURL.absoluteString), workspace \(remote.workspaceId), \(remote.folder)"
    }

    /// Leaves nothing behind if one of the folders is not there.
    private func withSession<Value>(
        _ report: @escaping @Sendable (PydioSyncEvent) -> Void, _ body: (SyncSession) async throws -> Value
    ) async throws -> Value {
        try await checkFolders()
        let session = try SyncSession(local, remote, options, identity: identity, report)
        defer { session.close() }
        return try await body(session)
    }

    private func checkFolders() async throws {
        guard local.find(.root) == .node(.folder) else {
            throw PydioError(.file, "there is no folder \(local.path); nothing was synced")
        }
        guard remote.folder != PydioRecycleBin.usualPath, !PydioRecycleBin.holds(remote.folder) else {
            throw PydioError(.invalidArgument, "the recycle bin cannot be synced")
        }
        try await remote.check()
    }

    // MARK: Calls

    /// What ``run(_:)`` would do now. Changes nothing on either side.
    public func plan() async throws -> PydioSyncPlan {
        try await throwingPydioErrors {
            let refused = Lock<[PydioSyncRefusal]>([])
            let report: @Sendable (PydioSyncEvent) -> Void = { event in
                if case .refused(let refusal) = event { refused.withLock { $0.append(refusal) } }
            }
            try await checkFolders()
            let plan: SyncPlan
            if LocalFolder(path: StateFolder.path(in: local.path)).find(.root) == .nothing {
                plan = try await SyncSession.firstPlan(local, remote, options) { report(.refused($0)) }
            } else {
                plan = try await withSession(report) { try await $0.plan() }
            }
            return PydioSyncPlan(
                steps: plan.steps, refused: refused.withLock { $0 } + plan.refused, emptySide: plan.emptySide)
        }
    }

    /// Makes both folders the same, and returns. Cancelling its task drops the transfer under way; the next run begins
    /// it again.
    ///
    /// - Parameter report: Called in order, from one thread at a time.
    /// - Throws: ``PydioError`` for what concerns more than one file.
    public func run(_ report: @escaping @Sendable (PydioSyncEvent) -> Void = { _ in }) async throws
        -> PydioSyncSummary
    {
        try await throwingPydioErrors { try await withSession(report) { try await $0.run() } }
    }

    /// Makes both folders the same, and again whenever one of them changes, until its task is cancelled or something
    /// fails that trying again does not help with. Failures of the network are tried again, after up to a minute.
    public func watch(_ report: @escaping @Sendable (PydioSyncEvent) -> Void = { _ in }) async throws {
        try await throwingPydioErrors {
            try await withSession(report) { session in
                try await FolderWatch(session, local, remote, options, report).run()
            }
        }
    }

    private func throwingPydioErrors<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let failure as SyncStateFailure {
            throw failure.error
        } catch is CancellationError {
            throw PydioError.cancelled
        }
    }
}

/// What a sync would do.
public struct PydioSyncPlan: Sendable, Hashable {
    /// In order. What is to be done after both sides of a conflict are kept is not in it.
    public let steps: [PydioSyncStep]
    /// What would be left out.
    public let refused: [PydioSyncRefusal]
    /// The side where everything is gone that was ever synced; a run then does nothing unless
    /// ``PydioSyncOptions/allowsEmptying``.
    public let emptySide: PydioSyncSide?
}

extension URL {
    fileprivate var pathWithoutSlash: String {
        let path = path
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
