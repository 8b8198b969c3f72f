/// Who asks for what, and where.
struct Call {
    let request: FakePydioRequest
    var parameters: FormParameters
    let user: FakePydioUser
    var workspace: FakePydioWorkspace
    /// Of the session API.
    let session: String?
    /// Unix time.
    let now: Int

    subscript(name: String) -> String? { parameters[name] }

    /// A switch such as `recursive=true`.
    func isSet(_ name: String) -> Bool { ["true", "on", "1"].contains(parameters[name] ?? "") }

    /// Whether the client says that it is in the recycle bin: what is deleted is then deleted for good.
    var isInBin: Bool { parameters["dir"].map { TreePath($0) } == .recycleBin }

    var rights: FakePydioUser.Rights { user.rights(in: workspace.id) ?? [] }
    /// Names the tree: those of some workspaces are each user's own.
    var treeKey: TreeKey { TreeKey(workspace: workspace, user: user.id) }

    /// What an action is about: `file`, `file_0` and so on, or `nodes[]`.
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
