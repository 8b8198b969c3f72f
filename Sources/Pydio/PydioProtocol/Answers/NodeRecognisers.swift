import Foundation

extension AnswerRecogniser where Value == [NodeResponse] {
    /// The results of a search: nodes without an enclosing folder.
    package static let searchResults = Self("the search", of: .search) { body in
        guard let root = body.root, root.name == "tree" else { return .other }
        let nodes = root.children("tree")
        // A server that is still building its index reports that like a success.
        if nodes.isEmpty, let message = root.child("message") { return .serverError(message.text) }
        return Match(nodes: nodes)
    }
}

extension AnswerRecogniser where Value == [PydioActivity]? {
    /// The feed; `nil` for an empty answer, which older servers send if there are no activities.
    package static let activities = Self("the request for activities") { body in
        if body.isBlank { return .value(nil) }
        guard let root = body.root, root.name == "tree" else { return .other }
        return .value(root.children("tree").compactMap { NodeResponse($0).map { PydioActivity($0) } })
    }
}

extension AnswerRecogniser.Match where Value == [NodeResponse] {
    fileprivate init(nodes: [XMLNode]) {
        var result: [NodeResponse] = []
        for node in nodes {
            guard let response = NodeResponse(node) else {
                self = .incomplete
                return
            }
            result.append(response)
        }
        self = .value(result)
    }
}

extension AnswerRecogniser where Value == PydioSuccessResponse {
    /// A success message, the changes, or an instruction to reload: servers differ.
    package static func done(_ operation: OptionalOperation) -> Self {
        Self(operation.rawValue, of: operation) { body in
            guard let root = body.root, root.name == "tree", !root.children.isEmpty else { return .other }
            return .value(PydioSuccessResponse(answer: root) ?? PydioSuccessResponse(rest: root))
        }
    }
}

extension AnswerRecogniser where Value == PydioNodeStat? {
    /// Like ``stat``, but with a hash.
    package static let statWithHash = Self("the request for a file's hash", of: .contentHash) { body in
        Match(stat: body)
    }
}

extension AnswerRecogniser where Value == PydioQuota {
    /// The used and total storage.
    package static let quota = Self("the request for the quota", of: .quota) { body in
        guard body.document == nil, let values = body.json as? [String: Any] else { return .other }
        return PydioQuota(json: values).map { .value($0) } ?? .incomplete
    }
}

extension AnswerRecogniser where Value == [PydioComment] {
    /// The comments on a node. Invalid entries are skipped.
    package static let comments = Self("the request for comments", of: .comments) { body in
        guard body.document == nil, let json = body.json else { return .other }
        // Some database drivers number them.
        let rows = json as? [Any] ?? (json as? [String: Any]).map { Array($0.values) } ?? []
        return .value(rows.compactMap { ($0 as? [String: Any]).flatMap { PydioComment(json: $0) } })
    }
}

extension AnswerRecogniser where Value == PydioComment {
    package static let comment = Self("the comment", of: .comments) { body in
        guard body.document == nil, let values = body.json as? [String: Any] else { return .other }
        return PydioComment(json: values).map { .value($0) } ?? .incomplete
    }
}

extension AnswerRecogniser where Value == Void {
    /// The answer to deleting a comment: the remaining comments, or nothing. Only another request shows whether it is
    /// deleted.
    package static let commentRemoval = Self("the removal of a comment") { body in
        body.isBlank || body.document == nil && body.json != nil ? .value(()) : .other
    }
}

extension XMLNode {
    /// The actions that the server offers the user, from a part of its registry.
    package var actionNames: Set<String> {
        var names: Set<String> = []
        var waiting = [self]
        while let element = waiting.popLast() {
            if element.name == "action", let name = element["name"] { names.insert(name) }
            waiting += element.children
        }
        return names
    }
}
