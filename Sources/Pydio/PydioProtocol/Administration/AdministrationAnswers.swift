import Foundation

/// One page of the server's own lists: users, groups, workspaces.
package struct AdministrationPage: Sendable {
    package let entries: [XMLNode]
    /// The number of pages of the whole list.
    package let total: Int
}

/// Details of a user's account that are not in the list.
package struct UserLock: Hashable, Sendable {
    /// Whether the user may not log in.
    package let isLocked: Bool
}

extension AnswerRecogniser where Value == AdministrationPage {
    /// A page of a list. Newer versions name the kind of list, older ones do not.
    package static let administrationPage = Self("the request for a list of the server's own") { body in
        guard let root = body.root, root.name == "tree" else { return .other }
        let total = root.child("pagination").flatMap { $0["total"] }.flatMap { Int($0) } ?? 1
        return .value(AdministrationPage(entries: root.children("tree"), total: total))
    }
}

extension AnswerRecogniser where Value == XMLNode {
    /// A success message anywhere in the document: instructions to reload may come before it.
    ///
    /// - Parameter operation: Completes "the server cannot".
    package static func administration(_ operation: String) -> Self {
        Self("the request to \(operation)") { body in
            // Servers send an empty answer for operations that their version lacks or the user is not permitted.
            if body.isBlank { return .unsupported(operation) }
            guard let root = body.root, root.name == "tree" else { return .other }
            let messages = root.children("message")
            if let error = messages.first(where: { $0["type"] == "ERROR" }) { return .serverError(error.text) }
            return messages.contains { $0["type"] == "SUCCESS" } ? .value(root) : .other
        }
    }
}

extension AnswerRecogniser where Value == UserLock? {
    /// The answer to `edit_role` of a user; `nil` if the version doesn't report the lock.
    package static let userLock = Self("the request for a user's lock") { body in
        if body.isBlank { return .value(nil) }
        guard let object = body.json as? [String: Any], let user = object["USER"] as? [String: Any] else {
            return .other
        }
        let locks = (user["LOCK"] as? String ?? "").split(separator: ",")
        return .value(UserLock(isLocked: locks.contains("logout")))
    }
}

extension WorkspaceResponse {
    /// Reads an entry of the server's list of all workspaces; returns `nil` if it is something else.
    package init?(administrationEntry entry: XMLNode) {
        guard let id = entry["repository_id"], !id.isEmpty else { return nil }
        func text(_ name: String) -> String? { entry[name].flatMap { $0.isEmpty ? nil : $0 } }
        self.init(
            workspaceId: id, label: text("text"), accessType: text("accessType"), slug: text("slug"),
            owner: text("owner"), attributes: entry.attributes)
    }
}
