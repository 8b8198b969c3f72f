/// Compares both sides with their state when they were last in sync, path by path.
///
/// A change wins over a deletion. A folder is deleted only with everything in it. If a node has changed on both sides,
/// both versions are kept.
struct SyncPlanner {
    private let input: SyncInput
    private var children: [SyncPath: [SyncPath]] = [:]
    /// The folders with contents that are left out.
    private var guarded: Set<SyncPath> = []
    private var conflictPaths: Set<SyncPath> = []
    private var result = SyncPlan()

    init(_ input: SyncInput) {
        self.input = input
        var known: Set<SyncPath> = [.root]
        for path in [input.local.keys.map(\.self), input.remote.keys.map(\.self), input.records.keys.map(\.self)]
            .joined()
        {
            var path = path
            while known.insert(path).inserted {
                children[path.parent, default: []].append(path)
                path = path.parent
            }
        }
        for path in input.excluded { guardAncestors(of: path) }
        for path in known where SyncUpload.isTemporary(path.name) { guardAncestors(of: path) }
    }

    private mutating func guardAncestors(of path: SyncPath) {
        var folder = path
        while !folder.isRoot {
            folder = folder.parent
            guard guarded.insert(folder).inserted else { return }
        }
    }

    mutating func plan() -> SyncPlan {
        visitChildren(of: .root)
        result.steps.sort(by: PydioSyncStep.isInOrder)
        result.emptySide = emptySide
        return result
    }

    /// The side on which everything is gone. Deleting everything is more often caused by a missing disk than intended.
    /// New local files show that the local folder is present: the state is in it. A workspace may be a different one,
    /// whatever it contains.
    private var emptySide: PydioSyncSide? {
        let known = input.records.keys.filter { !isExcluded($0) }
        guard !known.isEmpty else { return nil }
        let isLocalEmpty = !input.local.contains { path, node in
            path.parent.isRoot && SyncNames.refusal(path, isFolder: node.isFolder, isTop: false) == nil
        }
        if result.steps.contains(where: { $0.kind == .deleteRemote }), isLocalEmpty { return .local }
        if result.steps.contains(where: { $0.kind == .deleteLocal }), known.allSatisfy({ input.remote[$0] == nil }) {
            return .remote
        }
        return nil
    }

    // MARK: Paths

    private func isExcluded(_ path: SyncPath) -> Bool {
        var path = path
        while !path.isRoot {
            if input.excluded.contains(path) { return true }
            path = path.parent
        }
        return false
    }

    private mutating func visitChildren(of folder: SyncPath) {
        let children = (children[folder] ?? []).sorted()
        let old = children.filter { SyncUpload.isTemporary($0.name) && input.remote[$0] != nil }
        for child in children {
            // It may be gone only for a moment, or until the other sync continues.
            if input.remote[child] == nil, old.contains(where: { SyncUpload.isOld($0.name, of: child.name) }) {
                refuse(child, "another sync is replacing it on the server; the next sync looks at it again")
                continue
            }
            visit(child)
        }
    }

    private mutating func visit(_ path: SyncPath) {
        guard !input.excluded.contains(path) else { return }
        let (local, remote, record) = (input.local[path], input.remote[path], input.records[path])
        if SyncUpload.isTemporary(path.name) {
            if local != nil, let reason = SyncNames.refusal(path, isFolder: false, isTop: false) {
                refuse(path, reason)
            }
            return
        }
        switch (local, remote) {
        case (nil, nil):
            if record != nil { result.forgotten.append(path) }
        case (.file(let here), .file(let there)):
            planFiles(path, here, there, record)
        case (.folder, .folder):
            if record != .folder { result.adopted[path] = .folder }
        case (.file, nil):
            if isSameHere(path) { delete(.deleteLocal, path) } else { send(.upload, path) }
        case (nil, .file):
            if isSameThere(path) { delete(.deleteRemote, path) } else { add(.download, path) }
        case (.folder, nil):
            if vanishes(path, on: .local) { return delete(.deleteLocal, path) }
            guard send(.makeRemoteFolder, path) else { return }
        case (nil, .folder):
            if vanishes(path, on: .remote) { return delete(.deleteRemote, path) }
            add(.makeLocalFolder, path)
        case (.file, .folder):
            if isSameHere(path) {
                delete(.deleteLocal, path)
                add(.makeLocalFolder, path)
            } else if vanishes(path, on: .remote) {
                delete(.deleteRemote, path)
                send(.upload, path)
                return
            } else {
                return keepBoth(path)
            }
        case (.folder, .file):
            if isSameThere(path) {
                guard send(.makeRemoteFolder, path) else { return }
                delete(.deleteRemote, path)
            } else if vanishes(path, on: .local) {
                delete(.deleteLocal, path)
                add(.download, path)
                return
            } else {
                return keepBoth(path)
            }
        }
        // Its former contents may still be recorded.
        visitChildren(of: path)
    }

    private mutating func planFiles(_ path: SyncPath, _ here: SyncVersion, _ there: SyncVersion, _ record: SyncRecord?)
    {
        switch (isSameHere(path), isSameThere(path)) {
        case (true, true):
            guard case .file(let local, let remote, let md5) = record,
                !local.hasSameStamp(as: here) || !remote.hasSameStamp(as: there)
            else { return }
            result.adopted[path] = .file(local: here, remote: there, md5: md5)
        case (false, true): send(.upload, path)
        case (true, false): add(.download, path)
        case (false, false): add(.compare, path)
        }
    }

    // MARK: Changes

    private func isSameHere(_ path: SyncPath) -> Bool {
        guard case .file(let here) = input.local[path], case .file(let local, _, let md5) = input.records[path] else {
            return false
        }
        return here.isSame(as: local, md5: md5)
    }

    private func isSameThere(_ path: SyncPath) -> Bool {
        guard case .file(let there) = input.remote[path], case .file(_, let remote, let md5) = input.records[path]
        else {
            return false
        }
        return there.isSame(as: remote, md5: md5)
    }

    /// Returns whether a folder on one side was deleted on the other, and nothing in it has changed, is new, or was
    /// left out.
    private func vanishes(_ path: SyncPath, on side: PydioSyncSide) -> Bool {
        guard input.records[path] == .folder else { return false }
        return vanishesWithContents(path, on: side)
    }

    private func vanishesWithContents(_ path: SyncPath, on side: PydioSyncSide) -> Bool {
        guard !input.excluded.contains(path), !SyncUpload.isTemporary(path.name) else { return false }
        switch side == .local ? input.local[path] : input.remote[path] {
        case nil: return true
        case .file: return side == .local ? isSameHere(path) : isSameThere(path)
        case .folder:
            guard input.records[path] == .folder, !guarded.contains(path) else { return false }
            return (children[path] ?? []).allSatisfy { vanishesWithContents($0, on: side) }
        }
    }

    // MARK: Steps

    private mutating func refuse(_ path: SyncPath, _ message: String) {
        result.refused.append(PydioSyncRefusal(path, message))
    }

    private mutating func add(
        _ kind: PydioSyncStep.Kind, _ path: SyncPath, contents: [SyncPath: SyncNode] = [:], newPath: SyncPath? = nil
    ) {
        let step = PydioSyncStep(
            kind, path, local: input.local[path], remote: input.remote[path], contents: contents, newPath: newPath)
        switch (input.direction, step.changes) {
        case (.up, .local), (.down, .remote): return
        case (.both, _), (.up, .remote), (.down, .local), (_, nil): result.steps.append(step)
        }
    }

    /// Adds a step that sends a name to the server.
    ///
    /// - Returns: Whether the server accepts it.
    @discardableResult
    private mutating func send(_ kind: PydioSyncStep.Kind, _ path: SyncPath) -> Bool {
        // A name that is not sent in this direction doesn't matter.
        guard input.direction != .down else { return true }
        let isTop = input.isWorkspaceTop && path.parent.isRoot
        if let reason = SyncNames.refusal(path, isFolder: kind == .makeRemoteFolder, isTop: isTop) {
            refuse(path, reason)
            return false
        }
        add(kind, path)
        return true
    }

    private mutating func delete(_ kind: PydioSyncStep.Kind, _ path: SyncPath) {
        let nodes = kind == .deleteLocal ? input.local : input.remote
        var contents: [SyncPath: SyncNode] = [:]
        var waiting = [path]
        while let next = waiting.popLast() {
            contents[next] = nodes[next]
            waiting += children[next] ?? []
        }
        add(kind, path, contents: contents)
    }

    private mutating func keepBoth(_ path: SyncPath) {
        guard input.direction != .up else {
            return refuse(path, "it has changed on both sides, and was left as it is: a sync both ways keeps both")
        }
        let new = SyncNames.conflict(path, input.conflictLabel) {
            input.local[$0] != nil || input.remote[$0] != nil || conflictPaths.contains($0)
        }
        conflictPaths.insert(new)
        add(.keepBoth, path, newPath: new)
    }
}
