import Basics

/// Reading and changing workspaces' files from outside.
extension FakePydioServer {
    /// The key of a tree: the workspace, and the user where each has separate files.
    private static func key(_ workspace: String, _ user: String, _ state: ServerState) -> TreeKey? {
        state.workspace(workspace).map { TreeKey(workspace: $0, user: user) }
    }

    /// Adds a file and the folders above it, without notifying anyone.
    ///
    /// - Parameter user: The owner, in a workspace with separate files for each user.
    package func addFile(_ path: String, _ bytes: [UInt8] = [], in workspace: String = "0", user: String = "ada") throws
    {
        add(path, try FileContent(bytes), in: workspace, user: user)
    }

    /// Adds a file of zeros that uses no disk space, for transfers of any size.
    package func addFile(_ path: String, size: Int, in workspace: String = "0", user: String = "ada") throws {
        add(path, .disk(try StoredFile(size: size), size: size), in: workspace, user: user)
    }

    /// Adds a folder and those above it, without notifying anyone.
    package func addFolder(_ path: String, in workspace: String = "0", user: String = "ada") {
        add(path, nil, in: workspace, user: user)
    }

    private func add(_ path: String, _ content: FileContent?, in workspace: String, user: String) {
        core.state.withLock { state in
            guard let key = Self.key(workspace, user, state) else { return }
            let path = TreePath(path)
            let now = state.now
            for count in 1..<max(path.pieces.count, 1) {
                let folder = TreePath(pieces: Array(path.pieces.prefix(count)))
                guard state.tree(key)[folder] == nil else { continue }
                let id = state.makeNodeID()
                state.changeTree(key) { $0.put(.folder(id: id, now: now), at: folder, now: now) }
            }
            let id = state.makeNodeID()
            let node = content.map { Node.file($0, id: id, now: now) } ?? .folder(id: id, now: now)
            state.changeTree(key) { $0.put(node, at: path, now: now) }
        }
    }

    /// Removes a node as if on the server's disk, without notifying anyone.
    package func remove(_ path: String, in workspace: String = "0", user: String = "ada") {
        core.state.withLock { state in
            guard let key = Self.key(workspace, user, state) else { return }
            let now = state.now
            state.changeTree(key) { _ = $0.remove(TreePath(path), now: now) }
        }
    }

    /// Moves a node as if on the server's disk, without notifying anyone.
    ///
    /// - Returns: False if it does not exist, or if the new path is taken or has no folder.
    @discardableResult
    package func move(_ path: String, to target: String, in workspace: String = "0", user: String = "ada") -> Bool {
        core.state.withLock { state in
            guard let key = Self.key(workspace, user, state) else { return false }
            let (from, to, now) = (TreePath(path), TreePath(target), state.now)
            return state.changeTree(key) { tree in
                guard tree[to] == nil, tree.isFolder(to.parent), !to.isAtOrBelow(from),
                    let node = tree.remove(from, now: now)
                else { return false }
                tree.put(node, at: to, now: now)
                return true
            }
        }
    }

    /// The first bytes of a file, 1 MiB by default; `nil` if it does not exist.
    package func contents(
        of path: String, in workspace: String = "0", user: String = "ada", upTo count: Int = 1 << 20
    ) -> [UInt8]? {
        node(path, workspace, user)?.content?.bytes(at: 0, count: count)
    }

    /// The size of a file in bytes; `nil` if it does not exist.
    package func size(of path: String, in workspace: String = "0", user: String = "ada") -> Int? {
        node(path, workspace, user)?.content?.size
    }

    /// The MD5 digest of a file in hexadecimal digits; `nil` if it does not exist.
    package func md5(of path: String, in workspace: String = "0", user: String = "ada") -> String? {
        node(path, workspace, user)?.content?.md5
    }

    package func exists(_ path: String, in workspace: String = "0", user: String = "ada") -> Bool {
        node(path, workspace, user) != nil
    }

    /// All paths in order, without the recycle bin if it is empty.
    package func paths(in workspace: String = "0", user: String = "ada") -> [String] {
        core.state.withLock { state in
            guard let key = Self.key(workspace, user, state) else { return [] }
            var result: [String] = []
            state.tree(key).root.forEach(at: .root) { path, node in
                guard !path.pieces.isEmpty, path != .recycleBin || node.children?.isEmpty == false else { return }
                result.append(path.text)
            }
            return result
        }
    }

    /// The number of public links to a node.
    package func shareCount(of path: String, in workspace: String = "0", user: String = "ada") -> Int {
        core.state.withLock { state in
            Self.key(workspace, user, state).flatMap { state.shares[$0]?[TreePath(path)]?.count } ?? 0
        }
    }

    private func node(_ path: String, _ workspace: String, _ user: String) -> Node? {
        core.state.withLock { state in Self.key(workspace, user, state).flatMap { state.tree($0)[TreePath(path)] } }
    }
}
