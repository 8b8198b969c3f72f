import Basics
import Foundation
import PydioProtocol
import PydioSDK

/// Syncs both folders, for as long as it owns the local folder's state.
actor SyncSession {
    /// The maximum number of passes. More than one is needed after conflicts or concurrent changes.
    private static let maximumPasses = 8

    let local: LocalFolder
    let remote: RemoteFolder
    let options: PydioSyncOptions
    let state: StateFolder
    let store: SyncStore
    let report: @Sendable (PydioSyncEvent) -> Void
    private(set) var records: [SyncPath: SyncRecord]
    private var uploads: [SyncUpload: Date]
    private var expected: [SyncPath: SyncExpectation]
    /// The known nodes on the server at a position in its log.
    private(set) var known: [SyncPath: SyncNode]
    private var sequence: Int64?
    /// The time of the last complete listing of the server.
    private var listed: Date?
    /// The nodes with temporary names in the last listing.
    private var temporaries: [SyncPath] = []
    /// Whether the last listing was complete.
    private var hasListedAll = false
    /// Whether the next listing must be complete.
    private var isListingDue = false
    /// The paths where the server's contents didn't match the log; checked again in the next pass.
    private var doubted: Set<SyncPath> = []
    private var summary = PydioSyncSummary()
    private var refused: Set<PydioSyncRefusal> = []
    /// The paths that have failed in this run; not retried in it.
    private var failed: Set<SyncPath> = []
    /// The contents of the local folder when the last run began.
    private(set) var scanned: [SyncPath: SyncNode] = [:]

    init(
        _ local: LocalFolder, _ remote: RemoteFolder, _ options: PydioSyncOptions, identity: String,
        _ report: @escaping @Sendable (PydioSyncEvent) -> Void
    ) throws(SyncStateFailure) {
        (self.local, self.remote, self.options, self.report) = (local, remote, options, report)
        state = try StateFolder(in: local.path)
        store = try SyncStore(state.database, identity: identity)
        let contents = try store.contents()
        (records, uploads, known) = (contents.records, contents.uploads, contents.remote)
        (sequence, expected, listed) = (contents.sequence, contents.expected, contents.listed)
    }

    /// Closes the session. Call nothing else afterwards.
    nonisolated func close() {
        store.close()
        state.release()
    }

    // MARK: Runs

    func run() async throws -> PydioSyncSummary {
        (summary, refused, failed) = (PydioSyncSummary(), [], [])
        try await completeSteps()
        try await undoUploads()
        for pass in 1...Self.maximumPasses {
            var plan = try await plan()
            if pass == 1 {
                if try await undoMovedUploads() { plan = try await self.plan() }
                if plan.emptySide != nil, !hasListedAll {
                    isListingDue = true
                    plan = try await self.plan()
                }
                if plan.emptySide != nil, !options.allowsEmptying {
                    summary.emptySide = plan.emptySide
                    return summary
                }
            }
            plan.refused.forEach(refuse)
            try settle(plan.adopted, forgetting: plan.forgotten)
            if try await carryOut(plan.steps) {
                // Keep the part of a large download to resume it in the next run.
                if failed.isEmpty { state.removeParts() }
                return summary
            }
        }
        refuse(PydioSyncRefusal(.root, "it keeps changing; the next sync goes on"))
        return summary
    }

    /// Records steps that a killed process had completed. Only a download creates a file with its number and time.
    private func completeSteps() async throws {
        for (path, expectation) in expected {
            let isDone: Bool
            switch (expectation.effect, expectation.record) {
            case (.local, .folder): isDone = local.find(path) == .node(.folder)
            case (.local, .file(let here, _, _)): isDone = local.isStill(.file(here), at: path)
            case (.remoteFolder, _):
                isDone = try await remote.isFolder(path)
                // The folder may be another user's, with contents.
                doubted.insert(path)
            case (.upload, _): continue
            }
            if isDone { try settle([path: expectation.record]) } else { try expect(nil, at: path) }
        }
    }

    /// Undoes uploads that were running when an earlier run was killed or lost the server.
    private func undoUploads() async throws {
        for (upload, begun) in uploads {
            do {
                // The last check covers everything.
                if Self.isOver(begun) { isListingDue = true }
                try await undo(upload, isOver: false)
            } catch let error as PydioError where error.concernsOnePath {
                refuseCleaning(upload, error)
            }
        }
    }

    private static func isOver(_ begun: Date) -> Bool { abs(begun.timeIntervalSinceNow) > longestRequest }

    private func refuseCleaning(_ upload: SyncUpload, _ error: PydioError) {
        refuse(PydioSyncRefusal(upload.path, "an unfinished upload cannot be cleaned up: \(error)"))
    }

    /// Undoes uploads whose folder was moved meanwhile, according to the listing.
    ///
    /// - Returns: Whether there were any, so that another listing is needed.
    private func undoMovedUploads() async throws -> Bool {
        for (upload, begun) in uploads {
            do {
                let found = temporaries.filter { $0.name.contains(upload.id) }
                for folder in Set(found.map(\.parent)) {
                    guard let paths = try await remote.paths(in: folder) else { continue }
                    try await remove(upload, from: folder, paths)
                }
                doubted.formUnion(found)
                if hasListedAll, Self.isOver(begun) { try settle([:], ending: upload) }
            } catch let error as PydioError where error.concernsOnePath {
                refuseCleaning(upload, error)
            }
        }
        return !doubted.isEmpty
    }

    /// Returns the steps that a run would perform now, as far as known in advance. Changes nothing.
    func plan() async throws -> SyncPlan {
        let here = try local.scan(records)
        scanned = here.nodes
        here.refused.forEach(refuse)
        let there = try await remoteTree()
        return SyncPlan(SyncInput(here, there, records, excluding: failed, remote, options))
    }

    /// Returns the plan for a folder that has never been synced.
    static func firstPlan(
        _ local: LocalFolder, _ remote: RemoteFolder, _ options: PydioSyncOptions,
        _ refuse: (PydioSyncRefusal) -> Void
    ) async throws -> SyncPlan {
        let here = try local.scan([:])
        here.refused.forEach(refuse)
        let there = try await remote.tree([:], after: nil, refuse)
        return SyncPlan(SyncInput(here, there, [:], excluding: [], remote, options))
    }

    static var day: String { Date().formatted(.iso8601.year().month().day()) }

    /// - Returns: Whether both sides are now in sync.
    private func carryOut(_ steps: [PydioSyncStep]) async throws -> Bool {
        var isSettled = true
        for step in steps {
            guard !Task.isCancelled else { throw PydioError.cancelled }
            let path = step.syncPath
            guard !failed.contains(where: { path.isWithin($0) }) else { continue }
            do {
                switch try await carryOut(step) {
                case .done(let step):
                    summary.counts[step.kind, default: 0] += 1
                    report(.done(step))
                    if step.kind == .keepBoth { isSettled = false }
                case .same: break
                case .changedMeanwhile:
                    doubted.insert(path)
                    isSettled = false
                case .refused(let message):
                    failed.insert(path)
                    refuse(PydioSyncRefusal(path, message))
                }
            } catch let error as PydioError where error.concernsOnePath {
                if try await hasChanged(since: step, error) {
                    doubted.insert(path)
                    isSettled = false
                } else {
                    failed.insert(path)
                    refuse(PydioSyncRefusal(path, "\(step.kind.name) failed: \(error)"))
                }
            }
        }
        return isSettled
    }

    /// Returns whether a server refused a step because something else is there now.
    private func hasChanged(since step: PydioSyncStep, _ error: PydioError) async throws -> Bool {
        guard error.code == .errorResponse else { return false }
        switch (try await remote.find(step.syncPath), step.remote) {
        case (nil, nil):
            guard try await !remote.isFolder(step.syncPath.parent) else { return false }
            doubted.insert(step.syncPath.parent)
            return true
        case (let now?, let then?): return !now.hasSameStamp(as: then)
        case (nil, _?), (_?, nil): return true
        }
    }

    /// Reports a refusal once per run.
    private func refuse(_ refusal: PydioSyncRefusal) {
        guard refused.insert(refusal).inserted else { return }
        summary.refused.append(refusal)
        report(.refused(refusal))
    }

    // MARK: State

    /// - Parameter isGoneThere: Whether the forgotten paths were deleted on the server, so that nothing else is there
    ///   either.
    func settle(
        _ new: [SyncPath: SyncRecord], forgetting forgotten: [SyncPath] = [], ending upload: SyncUpload? = nil,
        isGoneThere: Bool = false
    ) throws(SyncStateFailure) {
        try store.settle(
            new, forgetting: forgotten, ending: upload, isGoneThere: isGoneThere, remembersRemote: sequence != nil)
        if !forgotten.isEmpty {
            let gone = Set(forgotten)
            func isLeft(_ path: SyncPath) -> Bool {
                var path = path
                while !path.isRoot {
                    if gone.contains(path) { return false }
                    path = path.parent
                }
                return true
            }
            records = records.filter { isLeft($0.key) }
            if isGoneThere { known = known.filter { isLeft($0.key) } }
        }
        records.merge(new) { $1 }
        if sequence != nil { known.merge(new.mapValues(\.remote)) { $1 } }
        for path in new.keys { expected[path] = nil }
        if let upload { uploads[upload] = nil }
    }

    func expect(_ expectation: SyncExpectation?, at path: SyncPath) throws(SyncStateFailure) {
        try store.expect(expectation, at: path)
        expected[path] = expectation
    }

    func begin(_ upload: SyncUpload) throws(SyncStateFailure) {
        let now = Date()
        try store.begin(upload, at: now)
        uploads[upload] = now
    }

    /// Seconds after which a server no longer processes a request of a client that has gone.
    private static let longestRequest: TimeInterval = 600

    /// Removes an upload's leftovers on the server under temporary names. If the old file was being replaced, it gets
    /// its name back, unless that is taken by now.
    ///
    /// - Parameter isOver: Whether the server has answered everything. Otherwise leftovers may appear late, and the
    ///   next runs check again.
    func undo(_ upload: SyncUpload, isOver: Bool) async throws {
        let folder = upload.path.parent
        guard let paths = try await remote.paths(in: folder) else {
            // It was moved or deleted: a complete listing finds its contents.
            try await settleExpected(upload, [])
            isListingDue = true
            return
        }
        try await settleExpected(upload, paths)
        try await remove(upload, from: folder, paths)
        if isOver { try settle([:], ending: upload) }
    }

    /// - Parameter paths: The contents of the folder.
    private func remove(_ upload: SyncUpload, from folder: SyncPath, _ paths: Set<SyncPath>) async throws {
        let old = folder.appending(upload.old)
        if paths.contains(old) {
            let isTaken =
                if paths.contains(folder.appending(upload.path.name)) { true } else {
                    try await !remote.rename(old, to: upload.path.name)
                }
            if isTaken { try await remote.deleteForGood(old) }
        }
        for name in [upload.whole, upload.part] where paths.contains(folder.appending(name)) {
            try await remote.deleteForGood(folder.appending(name))
        }
    }

    /// Records an upload whose temporary name is gone, because it was renamed: even if the local file has changed by
    /// now, the file on the server is not another user's change.
    private func settleExpected(_ upload: SyncUpload, _ names: Set<SyncPath>) async throws {
        let path = upload.path
        guard let expectation = expected[path], expectation.effect == .upload(upload.id),
            case .file(_, let arrived, _) = expectation.record
        else { return }
        if !names.contains(path.parent.appending(upload.whole)), names.contains(path),
            try await remote.find(path)?.hasSameStamp(as: .file(arrived)) == true
        {
            try settle([path: expectation.record])
        } else {
            try expect(nil, at: path)
        }
    }

    // MARK: The server's side

    /// Returns the server's tree, by its change log if it has one, otherwise by listing everything.
    private func remoteTree() async throws -> SyncRemoteTree {
        let changes = options.usesChangesFeed ? try await remote.changes(since: sequence ?? 0) : nil
        let feed = changes.flatMap { changes in
            sequence == nil || changes.isReset
                ? nil : SyncFeedChanges(changes.changes, below: remote.folder, doubting: doubted, known: known)
        }
        let listsAll = feed?.isOfWhole != false || isListingDue || isListingOld
        let tree = try await remote.tree(feed == nil ? [:] : known, after: feed, listsAll: listsAll, refuse)
        (doubted, isListingDue) = ([], false)
        temporaries = uploads.isEmpty ? [] : tree.nodes.keys.filter { SyncUpload.isTemporary($0.name) }
        // Folders that could not be listed must be retried, which the log doesn't show.
        let isWhole = tree.unlisted.allSatisfy { remote.place($0) == PydioRecycleBin.usualPath }
        hasListedAll = listsAll && isWhole
        let place = isWhole ? changes?.lastSequence : nil
        // Without a log, the next listing starts over.
        let kept = place == nil ? [:] : tree.nodes
        let listed = place == nil ? nil : listsAll ? Date() : self.listed
        if place != sequence || kept != known || listed != self.listed {
            try store.setRemote(kept, insteadOf: known, at: place, listed: listed)
            (known, sequence, self.listed) = (kept, place, listed)
        }
        return tree
    }

    /// Whether the last complete listing is too old, or newer because the clock was set back.
    private var isListingOld: Bool {
        listed.map { abs($0.timeIntervalSinceNow) >= options.fullListingInterval / .seconds(1) } ?? true
    }
}

extension SyncInput {
    fileprivate init(
        _ here: LocalTree, _ there: SyncRemoteTree, _ records: [SyncPath: SyncRecord], excluding: Set<SyncPath>,
        _ remote: RemoteFolder, _ options: PydioSyncOptions
    ) {
        self.init(
            local: here.nodes, remote: there.nodes, records: records,
            excluded: here.excluded.union(there.unlisted).union(excluding), conflictLabel: SyncSession.day)
        direction = options.direction
        isWorkspaceTop = remote.folder == "/"
    }
}

extension PydioSyncStep.Kind {
    /// A name for people.
    fileprivate var name: String {
        switch self {
        case .makeLocalFolder: "creating the folder here"
        case .makeRemoteFolder: "creating the folder on the server"
        case .upload: "uploading"
        case .download: "downloading"
        case .deleteLocal: "deleting it here"
        case .deleteRemote: "deleting it on the server"
        case .compare: "comparing both sides"
        case .keepBoth: "renaming the local one"
        }
    }
}
