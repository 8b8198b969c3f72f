import Basics
public import PydioSDK
import Realtime

/// Keeps a local folder and a folder in a workspace in sync.
///
///     let sync = PydioFolderSync(client: client, workspaceId: "0", localFolder: folder, account: "ada")
///     let summary = try await sync.run { event in print(event) }
///
/// A sync compares each path with its state when both sides were last in sync. A change wins over a deletion. If a file
/// has changed on both sides, both versions are kept, the local one under a new name such as
/// `plan (conflict 2026-11-24).txt`. A file that changes during its transfer is not recorded as in sync.
///
/// The state is stored in a folder `.pydio-sync` in the local folder. Only one process at a time can sync a folder. A
/// process may be killed at any moment: the next run completes its work. Uploads use temporary names that begin with
/// `pydio-sync-`, which other syncs ignore.
///
/// A sync leaves out links, nodes that cannot be read or listed, names that servers would change, and names that begin
/// with a dot, which servers refuse. It reports them with ``PydioSyncEvent/refused(_:)``. Modes, owners and times are
/// not synced.
public final class PydioFolderSync: Sendable {
    private let local: LocalFolder
    private let remote: RemoteFolder
    private let account: String
    private let options: PydioSyncOptions

    /// - Parameters:
    ///   - client: The client of the server, which also provides the user.
    ///   - workspaceId: The ``WorkspaceResponse/workspaceId``; not the name or the slug.
    ///   - remoteFolder: A folder in the workspace. Default: its root. The recycle bin is not synced.
    ///   - localFolder: An existing folder.
    ///   - account: The name of the user who owns the files, for workspaces with separate files for each user.
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

    /// The identity of the synced folders that the state belongs to.
    private var identity: String {
        "\(account) at \(remote.client.serverURL.absoluteString), workspace \(remote.workspaceId), \(remote.folder)"
    }

    /// Runs `body` with a session. Leaves nothing behind if one of the folders does not exist.
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

    /// Returns the steps that ``run(_:)`` would perform now. Changes nothing on either side.
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

    /// Syncs both folders once. Cancelling its task aborts the current transfer; the next run restarts it.
    ///
    /// - Parameter report: Called in order, from one thread at a time.
    /// - Throws: ``PydioError`` for failures that concern more than one file.
    public func run(_ report: @escaping @Sendable (PydioSyncEvent) -> Void = { _ in }) async throws
        -> PydioSyncSummary
    {
        try await throwingPydioErrors { try await withSession(report) { try await $0.run() } }
    }

    /// Syncs both folders, and again whenever one of them changes, until its task is cancelled or an error occurs that
    /// a retry cannot fix. Retries network failures after up to a minute.
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

/// The steps that a sync would perform.
public struct PydioSyncPlan: Sendable, Hashable {
    /// The steps in order, without those that follow a conflict in which both sides are kept.
    public let steps: [PydioSyncStep]
    /// The nodes that would be left out.
    public let refused: [PydioSyncRefusal]
    /// The side on which everything that was ever synced is gone. A run then does nothing unless
    /// ``PydioSyncOptions/allowsEmptying`` is true.
    public let emptySide: PydioSyncSide?
}

extension URL {
    fileprivate var pathWithoutSlash: String {
        let path = path
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
