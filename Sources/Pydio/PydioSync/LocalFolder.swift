import Basics
import Foundation
import PydioProtocol
import PydioSDK

/// The contents of the local folder.
struct LocalTree: Sendable {
    var nodes: [SyncPath: SyncNode] = [:]
    /// The paths that are left out, with everything in them.
    var excluded: Set<SyncPath> = [SyncPath(SyncNames.stateFolder)]
    var refused: [PydioSyncRefusal] = []

    fileprivate mutating func leaveOut(_ path: SyncPath, _ message: String) {
        excluded.insert(path)
        refused.append(PydioSyncRefusal(path, message))
    }
}

/// The local folder. Links are not followed, so that nothing outside of it is read or written.
struct LocalFolder: Sendable {
    /// The maximum nesting of folders, more than anyone uses.
    private static let maximumDepth = 200

    /// The path without a trailing slash.
    let path: String

    func place(_ path: SyncPath) -> String { path.isRoot ? self.path : "\(self.path)/\(path.text)" }

    /// The kind of node at a path.
    enum Found: Hashable {
        case nothing
        case node(SyncNode)
        /// A link, a device, or a node that cannot be examined.
        case other

        var node: SyncNode? {
            switch self {
            case .node(let node): node
            case .nothing, .other: nil
            }
        }
    }

    func find(_ path: SyncPath) -> Found { Self.find(place(path)) }

    private static func find(_ file: String) -> Found {
        var status = stat()
        guard lstat(file, &status) == 0 else { return errno == ENOENT || errno == ENOTDIR ? .nothing : .other }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            let time = status.st_mtim
            return .node(
                .file(
                    SyncVersion(
                        size: Int64(status.st_size), modified: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec),
                        number: UInt64(status.st_ino))))
        case S_IFDIR: return .node(.folder)
        case _: return .other
        }
    }

    /// Returns whether the path still holds the node that a step expects.
    func isStill(_ node: SyncNode?, at path: SyncPath) -> Bool {
        switch (find(path), node) {
        case (.nothing, nil): true
        case (.node(let now), let node?): now.hasSameStamp(as: node)
        case (.nothing, _?), (.node, nil), (.other, _): false
        }
    }

    /// Returns the node at a file system path; `nil` if it is not a node that is synced.
    func find(file: String) -> SyncNode? { Self.find(file).node }

    // MARK: Scanning

    /// Returns everything in the folder.
    ///
    /// - Parameter records: The known records. Reads files that look changed but have their recorded size, to check
    ///   whether they have changed. `nil` reads none.
    func scan(_ records: [SyncPath: SyncRecord]?) throws(PydioError) -> LocalTree {
        var tree = LocalTree()
        var waiting: [(path: SyncPath, depth: Int)] = [(.root, 0)]
        while let (folder, depth) = waiting.popLast() {
            guard !Task.isCancelled else { throw .cancelled }
            guard depth <= Self.maximumDepth else {
                tree.leaveOut(folder, "folders are nested more than \(Self.maximumDepth) deep")
                continue
            }
            let names: [String?]
            switch Self.names(in: place(folder)) {
            case .success(let found): names = found
            case .failure(let failure):
                guard !folder.isRoot else { throw .ofFile("\(path) cannot be read", errno: failure.number) }
                // The folder was there a moment ago, and its contents may still be.
                tree.leaveOut(folder, "the folder cannot be read: \(String(cString: strerror(failure.number)))")
                continue
            }
            for name in names {
                guard let name else {
                    // The folder must not be deleted because of it.
                    tree.leaveOut(folder.appending("\u{FFFD}"), "a name in this folder is not valid UTF-8; rename it")
                    continue
                }
                let child = folder.appending(name)
                guard !tree.excluded.contains(child) else { continue }
                switch find(child) {
                case .nothing: break
                case .other: tree.leaveOut(child, "it is neither a file nor a folder; links are not followed")
                case .node(.folder):
                    tree.nodes[child] = .folder
                    waiting.append((child, depth + 1))
                case .node(.file(let version)):
                    tree.nodes[child] = .file(records.map { hashed(version, at: child, $0[child]) } ?? version)
                }
            }
        }
        return tree
    }

    private func hashed(_ version: SyncVersion, at path: SyncPath, _ record: SyncRecord?) -> SyncVersion {
        guard case .file(let recorded, _, _) = record, recorded.size == version.size,
            !recorded.hasSameStamp(as: version), let md5 = try? FileDigest.md5(ofFile: place(path)),
            isStill(.file(version), at: path)
        else { return version }
        var version = version
        version.md5 = md5
        return version
    }

    private struct SystemFailure: Error {
        let number: Int32
    }

    /// Returns the names in a folder; `nil` for a name that is not valid text.
    private static func names(in folder: String) -> Result<[String?], SystemFailure> {
        guard let directory = opendir(folder) else { return .failure(SystemFailure(number: errno)) }
        defer { closedir(directory) }
        var names: [String?] = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else {
                // An incomplete list would make files look deleted.
                return errno == 0 ? .success(names) : .failure(SystemFailure(number: errno))
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }

    // MARK: Changing

    func makeFolder(_ path: SyncPath) throws(PydioError) {
        guard mkdir(place(path), 0o777) == 0 else {
            throw .ofFile("the folder \(place(path)) cannot be created", errno: errno)
        }
    }

    /// Deletes the expected contents, from the inside out.
    ///
    /// - Returns: False if something else is there; its folders then stay.
    func delete(_ contents: [SyncPath: SyncNode]) throws(PydioError) -> Bool {
        for (path, node) in contents.sorted(by: { $0.key > $1.key }) {
            if find(path) == .nothing { continue }
            guard isStill(node, at: path) else { return false }
            let file = place(path)
            guard (node.isFolder ? rmdir(file) : unlink(file)) == 0 else {
                if errno == ENOTEMPTY || errno == EEXIST { return false }
                throw .ofFile("\(file) cannot be deleted", errno: errno)
            }
        }
        return true
    }

    /// Renames a node, unless the name is taken.
    func move(_ path: SyncPath, to target: SyncPath) throws(PydioError) -> Bool {
        guard find(target) == .nothing else { return false }
        guard rename(place(path), place(target)) == 0 else {
            throw .ofFile("\(place(path)) cannot be renamed to \(target.name)", errno: errno)
        }
        return true
    }

    /// Moves a complete download to its path.
    ///
    /// - Parameter former: The file that it replaces; `nil` if there must be none.
    /// - Returns: False if something else is there.
    func put(_ part: String, at path: SyncPath, insteadOf former: SyncNode?) throws(PydioError) -> Bool {
        try Self.keep(part, modeOf: former == nil ? nil : place(path))
        guard isStill(former, at: path) else { return false }
        let file = place(path)
        if former != nil {
            guard rename(part, file) == 0 else { throw .ofFile("\(file) cannot be replaced", errno: errno) }
        } else if !FilePlacement.move(part, toNew: file) {
            guard errno == EEXIST else { throw .ofFile("\(file) cannot be written", errno: errno) }
            return false
        }
        return true
    }

    /// Writes the file's content and permissions to the disk before it gets its name.
    private static func keep(_ part: String, modeOf former: String?) throws(PydioError) {
        let descriptor = open(part, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .ofFile("\(part) cannot be opened", errno: errno) }
        defer { close(descriptor) }
        guard FilePlacement.setMode(of: descriptor, replacing: former), fsync(descriptor) == 0 else {
            throw .ofFile("\(part) cannot be written", errno: errno)
        }
    }
}
