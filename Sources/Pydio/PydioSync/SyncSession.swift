import Basics
import Foundation
import PydioProtocol
import PydioSDK

/// Makes both folders the same, for as long as it holds the local one's state.
actor SyncSession {
    /// More than one is needed if both sides of something are kept, or something changes meanwhile.
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
    /// What is known of the server's side at a place in its log.
    private(set) var known: [SyncPath: SyncNode]
    private var sequence: Int64?
    /// When everything on the server was last listed.
    private var listed: Date?
    /// Nodes under temporary names in the last listing.
    private var temporaries: [SyncPath] = []
    /// Whether that was a listing of everything.
    private var hasListedAll = false
    /// Whether the next one is to be.
    private var isListingDue = false
    /// Where the server was found to hold something else than the log has told: looked at again in the next pass.
    private var doubted: Set<SyncPath> = []
    private var summary = PydioSyncSummary()
    private var refused: Set<PydioSyncRefusal> = []
    /// What has failed in this run: not tried again in it.
    private var failed: Set<SyncPath> = []
    /// What the local folder was when the last run began.
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

    /// Nothing may be called after it.
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
                // What is left of a large download goes on the next time.
                if failed.isEmpty { state.removeParts() }
                return summary
            }
        }
        refuse(PydioSyncRefusal(.root, "it keeps changing; the next sync goes on"))
        return summary
    }

    /// Records what a process had made when it was killed. Nothing but a download makes a file of its number and time.
    private func completeSteps() async throws {
        for (path, expectation) in expected {
            let isDone: Bool
            switch (expectation.effect, expectation.record) {
            case (.local, .folder): isDone = local.find(path) == .node(.folder)
            case (.local, .file(let here, _, _)): isDone = local.isStill(.file(here), at: path)
            case (.remoteFolder, _):
                isDone = try await remote.isFolder(path)
                // It may be somebody else's, with something in it.
                doubted.insert(path)
            case (.upload, _): continue
            }
            if isDone { try settle([path: expectation.record]) } else { try expect(nil, at: path) }
        }
    }

    /// Uploads that were under way when a run before was killed, or lost the server.
    private func undoUploads() async throws {
        for (upload, begun) in uploads {
            do {
                // The last look is everywhere.
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

    /// Like that, for uploads whose folder was moved meanwhile, as the listing shows.
    ///
    /// - Returns: Whether there was anything, so that another listing is needed.
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

    /// What a run would do now, as far as can be told before. Changes nothing.
    func plan() async throws -> SyncPlan {
        let here = try local.scan(records)
        scanned = here.nodes
        here.refused.forEach(refuse)
        let there = try await remoteTree()
        return SyncPlan(SyncInput(here, there, records, excluding: failed, remote, options))
    }

    /// The plan of a folder that has never been synced.
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

    /// - Returns: Whether both sides are the same now.
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

    /// Whether a server refused a step because something else is there by now.
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

    /// Says it once a run.
    private func refuse(_ refusal: PydioSyncRefusal) {
        guard refused.insert(refusal).inserted else { return }
        summary.refused.append(refusal)
        report(.refused(refusal))
    }

    // MARK: State

    /// - Parameter isGoneThere: Whether what is forgotten was deleted on the server, so that nothing else is there either.
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

    /// Seconds after which a server does nothing any more of what it was asked for by a client that has gone.
    private static let longestRequest: TimeInterval = 600

    /// Removes what an upload has left on the server under temporary names. If the former file was being replaced, it
    /// gets its name back, unless there is a file of that name by now.
    ///
    /// - Parameter isOver: Whether the server has answered everything. Otherwise something may come late, and is
    ///   looked for again by the next runs.
    func undo(_ upload: SyncUpload, isOver: Bool) async throws {
        let folder = upload.path.parent
        guard let paths = try await remote.paths(in: folder) else {
            // It was moved or deleted: what is in it now is found by listing everything.
            try await settleExpected(upload, [])
            isListingDue = true
            return
        }
        try await settleExpected(upload, paths)
        try await remove(upload, from: folder, paths)
        if isOver { try settle([:], ending: upload) }
    }

    /// - Parameter paths: What is in the folder.
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

    /// An upload whose temporary name is gone has got its own: even if the local file is another one by now, what is on
    /// the server is nobody else's change.
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

    /// By the server's log of changes where it keeps one, else by listing everything.
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
        // What could not be listed is to be tried again, which the log knows nothing of.
        let isWhole = tree.unlisted.allSatisfy { remote.place($0) == PydioRecycleBin.usualPath }
        hasListedAll = listsAll && isWhole
        let place = isWhole ? changes?.lastSequence : nil
        // Without a log, the next listing begins anew.
        let kept = place == nil ? [:] : tree.nodes
        let listed = place == nil ? nil : listsAll ? Date() : self.listed
        if place != sequence || kept != known || listed != self.listed {
            try store.setRemote(kept, insteadOf: known, at: place, listed: listed)
            (known, sequence, self.listed) = (kept, place, listed)
        }
        return tree
    }

    /// Also if the clock was set back.
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
    /// For people.
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
