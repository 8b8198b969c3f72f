/// A request with its user, action and place.
struct Call {
    let request: FakePydioRequest
    var parameters: FormParameters
    let user: FakePydioUser
    var workspace: FakePydioWorkspace
    /// The session of the session API.
    let session: String?
    /// Unix time.
    let now: Int

    subscript(name: String) -> String? { parameters[name] }

    /// Whether a switch such as `recursive=true` is set.
    func isSet(_ name: String) -> Bool { ["true", "on", "1"].contains(parameters[name] ?? "") }

    /// Whether the client claims to be in the recycle bin, where deletions are final.
    var isInBin: Bool { parameters["dir"].map { TreePath($0) } == .recycleBin }

    var rights: FakePydioUser.Rights { user.rights(in: workspace.id) ?? [] }
    /// The key of the tree: in some workspaces each user has one.
    var treeKey: TreeKey { TreeKey(workspace: workspace, user: user.id) }

    /// The nodes of an action: `file`, `file_0` and so on, or `nodes[]`.
    var selection: [TreePath] {
        var result = parameters.array("nodes")
        var index = 0
        while let file = parameters["file_\(index)"] {
            result.append(file)
            index += 1
        }
        if result.isEmpty, let file = parameters["file"] { result = [file] }
        return result.map { TreePath($0) }
    }
}

struct TreeKey: Hashable, Sendable {
    let workspace: String
    let user: String?

    init(workspace: FakePydioWorkspace, user: String) {
        self.workspace = workspace.id
        self.user = workspace.isPerUser ? user : nil
    }
}
