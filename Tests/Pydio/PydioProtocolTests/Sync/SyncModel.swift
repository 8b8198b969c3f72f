import PydioProtocol

/// Both sides of a sync as values, and its records of them.
struct SyncModel {
    enum Entry: Hashable {
        case folder
        /// The stamp changes with each write.
        case file(content: Int, stamp: Int64)

        var content: Int? {
            switch self {
            case .folder: nil
            case .file(let content, _): content
            }
        }

        var node: SyncNode {
            switch self {
            case .folder: .folder
            case .file(_, let stamp): .file(SyncVersion(size: 1, modified: stamp))
            }
        }
    }

    struct Broken: Error {
        let what: String
    }

    var local: [SyncPath: Entry] = [:]
    var remote: [SyncPath: Entry] = [:]
    var records: [SyncPath: SyncRecord] = [:]
    var direction = PydioSyncDirection.both
    private var stamp: Int64 = 0

    mutating func makeStamp() -> Int64 {
        stamp += 1
        return stamp
    }

    var plan: SyncPlan {
        var input = SyncInput(
            local: local.mapValues(\.node), remote: remote.mapValues(\.node), records: records, conflictLabel: "day")
        input.direction = direction
        return SyncPlan(input)
    }

    /// The contents of a side, without stamps.
    static func contents(_ side: [SyncPath: Entry]) -> [SyncPath: Int?] { side.mapValues(\.content) }

    mutating func settle(_ plan: SyncPlan) {
        for path in plan.forgotten { forget(path) }
        records.merge(plan.adopted) { $1 }
    }

    private mutating func forget(_ path: SyncPath) {
        records = records.filter { !$0.key.isWithin(path) }
    }

    private mutating func record(_ path: SyncPath) {
        switch (local[path]?.node, remote[path]?.node) {
        case (.folder, .folder): records[path] = .folder
        case (.file(let here), .file(let there)):
            records[path] = .file(local: here, remote: there, md5: "\(local[path]?.content ?? 0)")
        case _: break
        }
    }

    /// Carries out a step.
    ///
    /// - Parameter isRecorded: False if the process is killed before it records the step.
    mutating func carryOut(_ step: PydioSyncStep, isRecorded: Bool = true) throws {
        let path = step.syncPath
        switch step.kind {
        case .makeLocalFolder: try put(.folder, at: path, in: \.local)
        case .makeRemoteFolder: try put(.folder, at: path, in: \.remote)
        case .upload:
            guard let content = local[path]?.content else { throw Broken(what: "nothing to upload at \(path)") }
            try put(.file(content: content, stamp: makeStamp()), at: path, in: \.remote)
        case .download:
            guard let content = remote[path]?.content else { throw Broken(what: "nothing to download at \(path)") }
            try put(.file(content: content, stamp: makeStamp()), at: path, in: \.local)
        case .deleteLocal: try delete(step, in: \.local)
        case .deleteRemote: try delete(step, in: \.remote)
        case .compare:
            guard local[path]?.content != remote[path]?.content else { break }
            let new = SyncNames.conflict(path, "day") { local[$0] != nil || remote[$0] != nil }
            move(path, to: new)
            return
        case .keepBoth:
            guard let new = step.newPath, local[SyncPath(new)] == nil else { throw Broken(what: "no name for \(path)") }
            move(path, to: SyncPath(new))
            return
        }
        guard isRecorded else { return }
        switch step.kind {
        case .deleteLocal, .deleteRemote: forget(path)
        case .makeLocalFolder, .makeRemoteFolder, .upload, .download, .compare: record(path)
        case .keepBoth: break
        }
    }

    private mutating func put(
        _ entry: Entry, at path: SyncPath, in side: WritableKeyPath<SyncModel, [SyncPath: Entry]>
    ) throws {
        guard path.parent.isRoot || self[keyPath: side][path.parent] == .folder else {
            throw Broken(what: "\(path) has no folder")
        }
        if let old = self[keyPath: side][path], (old == .folder) != (entry == .folder) {
            throw Broken(what: "\(path) is in the way")
        }
        self[keyPath: side][path] = entry
    }

    private mutating func delete(_ step: PydioSyncStep, in side: WritableKeyPath<SyncModel, [SyncPath: Entry]>) throws {
        let inside = self[keyPath: side].keys.filter { $0.isWithin(step.syncPath) }
        guard Set(inside) == Set(step.contents.keys) else { throw Broken(what: "\(step.path) holds something else") }
        for path in inside { self[keyPath: side][path] = nil }
    }

    private mutating func move(_ path: SyncPath, to new: SyncPath) {
        for old in local.keys.filter({ $0.isWithin(path) }) {
            local[SyncPath(new.text + old.text.dropFirst(path.text.count))] = local.removeValue(forKey: old)
        }
    }

    /// Syncs until nothing is left to do.
    mutating func sync() throws {
        for _ in 0..<6 {
            let plan = plan
            settle(plan)
            if plan.steps.isEmpty { return }
            for step in plan.steps { try carryOut(step) }
        }
        throw Broken(what: "it does not come to an end: \(plan.steps.map { "\($0.kind) \($0.path)" })")
    }
}
