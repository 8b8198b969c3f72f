import Basics
import Foundation
import Glibc

/// The part of the state that outlives the process: the nodes and the numbers of their changes, without the files'
/// contents.
///
/// A change is one line, written before its answer. A line that a kill cut off belongs to a change without an answer.
final class ChangeJournal: Sendable {
    struct Entry: Codable {
        var kind: ChangeLog.Kind
        var workspace: String
        var user: String?
        var path: String
        var from: String?
        /// The new nodes; folders end with a slash.
        var nodes: [String]?
    }

    private let file: Lock<Int32>
    /// The entries at the start.
    let entries: [Entry]

    /// - Returns: `nil` if the file cannot be opened.
    init?(_ path: String) {
        let bytes = FileManager.default.contents(atPath: path) ?? Data()
        let whole = bytes.lastIndex(of: UInt8(ascii: "\n")).map { bytes.prefix(through: $0) } ?? Data()
        entries = whole.split(separator: UInt8(ascii: "\n")).compactMap {
            try? JSONDecoder().decode(Entry.self, from: $0)
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, off_t(whole.count)) == 0 else { return nil }
        file = Lock(descriptor)
    }

    deinit { file.withLock { _ = Glibc.close($0) } }

    /// - Parameter tree: The tree after the event.
    func record(_ event: TreeEvent, in key: TreeKey, _ tree: Tree) {
        var entry = Entry(kind: .create, workspace: key.workspace, user: key.user, path: "")
        switch event {
        case .created(let path):
            var nodes: [String] = []
            tree[path]?.forEach(at: path) { nodes.append($0.text + ($1.isFolder ? "/" : "")) }
            (entry.path, entry.nodes) = (path.text, nodes)
        case .updated(let path): (entry.kind, entry.path) = (.content, path.text)
        case .moved(let from, let to): (entry.kind, entry.path, entry.from) = (.path, to.text, from.text)
        case .deleted(let path, _): (entry.kind, entry.path) = (.delete, path.text)
        }
        guard let line = try? JSONEncoder().encode(entry) else { return }
        file.withLock { descriptor in
            _ = (line + Data("\n".utf8)).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        }
    }
}

extension ServerState {
    /// Replays the journal without notifying anyone.
    mutating func replay(_ entries: [ChangeJournal.Entry]) {
        for entry in entries {
            guard let workspace = workspace(entry.workspace) else { continue }
            let key = TreeKey(workspace: workspace, user: entry.user ?? "")
            guard let event = replay(entry, in: key) else { continue }
            changes.record(event, in: key, tree(key))
        }
    }

    private mutating func replay(_ entry: ChangeJournal.Entry, in key: TreeKey) -> TreeEvent? {
        let (path, now) = (TreePath(entry.path), now)
        switch entry.kind {
        case .create:
            for text in entry.nodes ?? [] {
                let id = makeNodeID()
                let node = text.hasSuffix("/") ? Node.folder(id: id, now: now) : .file(.memory([]), id: id, now: now)
                changeTree(key) { $0.put(node, at: TreePath(text), now: now) }
            }
            return .created(path)
        case .content: return .updated(path)
        case .path:
            guard let from = entry.from.map({ TreePath($0) }) else { return nil }
            let isMoved = changeTree(key) { tree in
                guard let node = tree.remove(from, now: now) else { return false }
                tree.put(node, at: path, now: now)
                return true
            }
            return isMoved ? .moved(from: from, to: path) : nil
        case .delete: return changeTree(key) { $0.remove(path, now: now) }.map { .deleted(path, $0) }
        }
    }
}
