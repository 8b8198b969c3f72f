import Foundation

/// Version 2 of the REST interface, where nodes have addresses: as far as the notes describe it (section 11.2).
extension ServerState {
    /// - Parameter pieces: The path after `v2`.
    mutating func rest2Answer(
        _ pieces: ArraySlice<String>, _ request: FakePydioRequest, _ user: FakePydioUser
    ) -> FakePydioAnswer {
        let names = Array(pieces)
        guard let kind = names.first else { return .failure("Not found") }
        if kind == "user" {
            guard names.count > 1 else { return .json(.object([("id", .string(user.id))])) }
            let own = workspaces(of: user).map { workspace in
                JSONValue.object([
                    ("id", .string(workspace.id)), ("slug", .string(workspace.slug)),
                    ("label", .string(workspace.label)),
                ])
            }
            return names[1] == "workspaces" ? .json(.array(own)) : .failure("Not found")
        }
        guard names.count > 1, let workspace = restWorkspace(names[1], user) else {
            return .failure("Cannot find this workspace")
        }
        let call = Call(
            request: request, parameters: request.parameters, user: user, workspace: workspace, session: nil, now: now)
        let path = TreePath(pieces: Array(names.dropFirst(2)))
        switch (kind, request.method) {
        case ("fs", "GET"): return nodeAnswer(path, call)
        case ("fs", "POST"): return makeAnswer(path, call)
        case ("fs", "DELETE"): return changeAnswer(.delete, [("file", path.text)], call)
        case ("io", "GET"): return contentAnswer(path, call)
        case ("io", "PUT"): return putAnswer(path, call)
        case _: return .failure("Not found")
        }
    }

    private func nodeAnswer(_ path: TreePath, _ call: Call) -> FakePydioAnswer {
        guard call.rights.contains(.read), let node = tree(call.treeKey)[path] else {
            return .failure("Cannot find file!")
        }
        var data = [("node", Self.json(path, node))]
        if call["children"] != nil {
            let children = (node.children ?? [:]).sorted { $0.key < $1.key }
            data.append(("children", .object(children.map { ($0.key.text, Self.json(path / $0.key.text, $0.value)) })))
        }
        return .json(.object([("data", .object(data))]))
    }

    private static func json(_ path: TreePath, _ node: Node) -> JSONValue {
        .object([
            ("path", .string(path.shown)), ("type", .string(node.isFolder ? "collection" : "leaf")),
            ("is_leaf", .bool(!node.isFolder)), ("label", .string(path.name)), ("bytesize", .number(node.size)),
            ("ajxp_modiftime", .number(node.modified)),
        ])
    }

    /// A trailing slash creates a folder.
    private mutating func makeAnswer(_ path: TreePath, _ call: Call) -> FakePydioAnswer {
        let isFolder = call.request.rawPath.hasSuffix("/")
        return changeAnswer(
            isFolder ? .makeFolder : .makeFile,
            [("dir", path.parent.shown), (isFolder ? "dirname" : "filename", path.name)], call)
    }

    private mutating func changeAnswer(
        _ action: Action, _ parameters: [(String, String)], _ call: Call
    ) -> FakePydioAnswer {
        guard call.rights.contains(.write) else { return .failure("You have no write permission", status: 403) }
        var call = call
        for (name, value) in parameters { call.parameters.append(name, value) }
        let outcome = outcome(of: action, call)
        if let failure = outcome.failure { return .failure(failure) }
        publish(outcome.events, call)
        return .message(outcome.message, outcome.diff)
    }

    private func contentAnswer(_ path: TreePath, _ call: Call) -> FakePydioAnswer {
        guard call.rights.contains(.read), let content = tree(call.treeKey)[path]?.content else {
            return .failure("Cannot find file!")
        }
        var answer = FakePydioAnswer(type: "application/force-download", content.body)
        answer.fields.append(("Content-Transfer-Encoding", "binary"))
        return answer
    }

    private mutating func putAnswer(_ path: TreePath, _ call: Call) -> FakePydioAnswer {
        guard call.rights.contains(.write) else { return .failure("You have no write permission", status: 403) }
        let tree = tree(call.treeKey)
        guard let upload = call.request.upload, tree.isFolder(path.parent), !path.name.isEmpty else {
            return .failure("Cannot find the folder")
        }
        let place = call.request.field("X-Rename-If-Exists") == "true" ? tree.freePath(path) : path
        put(.file(FileContent(upload), id: tree[place]?.id ?? makeNodeID(), now: now), at: place, call)
        publish([tree[place] == nil ? .created(place) : .updated(place)], call)
        return .message("The file has been written", NodesDiff(added: [place]))
    }
}

extension FakePydioAnswer {
    fileprivate static func failure(_ message: String, status: Int = 404) -> FakePydioAnswer {
        var answer = json(.object([("message", .string(message)), ("level", .string("ERROR"))]))
        answer.status = status
        return answer
    }

    fileprivate static func message(_ text: String, _ diff: NodesDiff) -> FakePydioAnswer {
        func paths(_ paths: [TreePath]) -> JSONValue { .array(paths.map { .object([("path", .string($0.text))]) }) }
        let changes: [(String, JSONValue)] = [("add", paths(diff.added)), ("remove", paths(diff.removed))]
        return json(
            .object([
                ("message", .string(text)), ("level", .string("SUCCESS")), ("nodesDiff", .object(changes)),
            ]))
    }
}
