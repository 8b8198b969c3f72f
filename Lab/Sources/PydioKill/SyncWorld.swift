import Basics
import Foundation
import PydioProtocol
import PydioTestSupport
import TestSupport

/// A server, a folder, and the expected contents of both after a sync.
final class SyncWorld {
    /// An error of a sync.
    struct Wrong: Error {
        let what: String
    }

    /// By path from the top; `nil` for a folder.
    typealias Tree = [SyncPath: Data?]

    let server: FakePydioServer
    let folder: URL
    let hasFeed: Bool
    /// Whether the log lacks entries, and half of the server's changes are made on its disk.
    let isLying: Bool
    private(set) var model: Tree = [:]
    /// Local contents of files that were written differently on both sides: each must be found once beside its file.
    private var conflicts: [SyncPath: Data] = [:]
    private var random: XorShift
    private var count = 0

    private static let tops = ["a", "b", "c", "d", "e", "f"]

    init(_ mode: FakePydioMode, hasFeed: Bool, isLying: Bool = false, seed: UInt64) async throws {
        var configuration = FakePydioServer.Configuration(mode: mode)
        configuration.hasChanges = hasFeed
        configuration.historyLimit = 0
        server = try await FakePydioServer.start(configuration)
        folder = FileManager.default.temporaryDirectory.appending(path: "pydio-kill-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        (self.hasFeed, self.isLying) = (hasFeed, isLying)
        if isLying { server.setLogFaults(.init(seed: seed)) }
        random = XorShift(seed: seed)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    // MARK: Edits

    private enum Side: CaseIterable {
        case local, remote
    }

    /// The only side on which everything below a top-level name is edited, so that the result is known.
    private var owners: [String: Side] = [:]

    func beginRound() {
        for top in Self.tops { owners[top] = Bool.random(using: &random) ? .local : .remote }
    }

    /// - Parameter hasConflicts: False while a sync runs, which may be faster than the edit of the second side.
    func edit(_ edits: Int, hasConflicts: Bool) throws {
        for _ in 0..<edits {
            let top = Self.tops.randomElement(using: &random) ?? "a"
            let depth = Int.random(in: 0..<4, using: &random)
            let path = makePath(below: top, depth: depth)
            guard let side = owners[top] else { continue }
            guard path.parent.isRoot || isFolder(path.parent) else { continue }
            let isThere = model[path] != nil
            let isFolder = isFolder(path)
            switch Int.random(in: 0..<7, using: &random) {
            case 0: try remove(path, on: side)
            case 1, 2: if !isThere { try makeFolder(path, on: side) }
            case 3 where depth < 2: if !isThere { try makeFolder(path, on: side) }
            case 4 where depth > 0: try move(path, to: makePath(below: top, depth: depth), on: side)
            case _: if !isFolder { try write(content(at: path), to: path, on: side) }
            }
        }
        // A file that is written on both sides, with equal or different contents.
        if hasConflicts, Int.random(in: 0..<3, using: &random) == 0 {
            count += 1
            let path = SyncPath("both-\(count).txt")
            let (mine, theirs) = (content(at: path), content(at: path))
            let isSame = Bool.random(using: &random)
            try write(mine, to: path, on: .local)
            try write(isSame ? mine : theirs, to: path, on: .remote)
            if !isSame { conflicts[path] = mine }
        }
    }

    private func isFolder(_ path: SyncPath) -> Bool { if case .some(nil) = model[path] { true } else { false } }

    private func makePath(below top: String, depth: Int) -> SyncPath {
        let names = (0..<depth).map { _ in
            ["x", "y z", "\u{E9}&.txt", "e\u{301}&.txt", "w.txt"].randomElement(using: &random) ?? "x"
        }
        return SyncPath(([top] + names).joined(separator: "/"))
    }

    private func file(_ path: SyncPath) -> URL { folder.appending(path: path.text) }

    /// Whether the next change on the server is made on its disk.
    private func isSilent() -> Bool { isLying && Bool.random(using: &random) }

    /// Unique contents; without a log also of a unique size, because times are in seconds.
    private func content(at path: SyncPath) -> Data {
        count += 1
        var text = "\(count) "
        let size = Int.random(in: 0..<10, using: &random) == 0 ? Int.random(in: 0..<400_000, using: &random) : 20
        text += String(repeating: "\(count % 10)", count: size + (hasFeed && !isLying ? 0 : count))
        return Data(text.utf8)
    }

    private func write(_ content: Data, to path: SyncPath, on side: Side) throws {
        switch side {
        case .local: try content.write(to: file(path))
        case .remote where isSilent(): try server.addFile("/" + path.text, Array(content))
        case .remote:
            let encoded = content.base64EncodedString()
            server.act("mkfile", ["dir": "/" + path.parent.text, "filename": path.name, "content": ""], as: "ada")
            server.act("put_content", ["file": "/" + path.text, "content": encoded, "encode": "base64"], as: "ada")
        }
        model[path] = .some(content)
    }

    private func makeFolder(_ path: SyncPath, on side: Side) throws {
        switch side {
        case .local:
            try FileManager.default.createDirectory(at: file(path), withIntermediateDirectories: false)
        case .remote where isSilent(): server.addFolder("/" + path.text)
        case .remote: server.act("mkdir", ["dir": "/" + path.parent.text, "dirname": path.name], as: "ada")
        }
        model[path] = .some(nil)
    }

    private func remove(_ path: SyncPath, on side: Side) throws {
        guard model[path] != nil else { return }
        switch side {
        case .local: try FileManager.default.removeItem(at: file(path))
        case .remote where isSilent(): server.remove("/" + path.text)
        case .remote: server.act("delete", ["nodes[]": "/" + path.text], as: "ada")
        }
        for inside in model.keys where inside.isWithin(path) { model[inside] = nil }
    }

    private func move(_ path: SyncPath, to target: SyncPath, on side: Side) throws {
        guard model[path] != nil, model[target] == nil, isFolder(target.parent), !target.isWithin(path) else { return }
        switch side {
        case .local: try FileManager.default.moveItem(at: file(path), to: file(target))
        case .remote where isSilent(): server.move("/" + path.text, to: "/" + target.text)
        case .remote: server.act("rename", ["file": "/" + path.text, "dest": "/" + target.text], as: "ada")
        }
        for inside in model.keys where inside.isWithin(path) {
            let rest = String(Substring(inside.text.utf8.dropFirst(path.text.utf8.count)))
            model[SyncPath(target.text + rest)] = model.removeValue(forKey: inside)
        }
    }

    // MARK: Checks

    /// Checks that both sides are equal to the model.
    func check() throws {
        let local = try localHashes()
        try settleConflicts(in: local)
        let expected = model.mapValues { $0.map { Self.md5($0) } }
        let remote = remoteHashes()
        try Self.compare(local, with: expected, "the folder")
        try Self.compare(remote, with: expected, "the server")
        let parts = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/.pydio-sync/parts")
        guard parts.isEmpty else { throw Wrong(what: "parts are left: \(parts)") }
    }

    private static func compare(
        _ found: [SyncPath: String?], with expected: [SyncPath: String?], _ what: String
    ) throws {
        for path in Set(found.keys).union(expected.keys).sorted() where found[path] != expected[path] {
            let problem =
                found[path] == nil ? "lacks" : expected[path] == nil ? "also holds" : "holds something else at"
            throw Wrong(what: "\(what) \(problem) \(path)")
        }
    }

    /// Finds the one file that each conflict has left, under any name.
    private func settleConflicts(in local: [SyncPath: String?]) throws {
        for (path, content) in conflicts {
            let copies = local.filter { $0.key != path && $0.value == Self.md5(content) }
            guard copies.count == 1, let copy = copies.first?.key, copy.name.contains("(conflict ")
            else {
                throw Wrong(what: "\(path) was kept beside the server's \(copies.count) times")
            }
            model[copy] = .some(content)
        }
        conflicts = [:]
    }

    private static func md5(_ content: Data) -> String { Digest.md5(Array(content)).hexadecimal }

    private func localHashes() throws -> [SyncPath: String?] {
        var hashes: [SyncPath: String?] = [:]
        for path in FileManager.default.enumerator(atPath: folder.path)?.compactMap({ $0 as? String }) ?? [] {
            guard path != ".pydio-sync", !path.hasPrefix(".pydio-sync/") else { continue }
            var isFolder: ObjCBool = false
            let file = folder.appending(path: path).path
            guard FileManager.default.fileExists(atPath: file, isDirectory: &isFolder) else { continue }
            hashes[SyncPath(path)] =
                isFolder.boolValue ? .some(nil) : .some(Self.md5(try Data(contentsOf: URL(filePath: file))))
        }
        return hashes
    }

    private func remoteHashes() -> [SyncPath: String?] {
        var hashes: [SyncPath: String?] = [:]
        for path in server.paths() where !path.hasPrefix("/recycle_bin") {
            hashes[SyncPath(String(path.dropFirst()))] = .some(server.md5(of: path))
        }
        return hashes
    }
}
