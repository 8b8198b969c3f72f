import Basics

/// A public link of a ``FakePydioServer``.
package struct FakePydioLink: Sendable {
    package let id: String
    /// Whether it has a workspace of its own, as nearly all links do.
    var isMinisite: Bool
    package var label: String
    package var description = ""
    /// The password for visitors.
    package var password: String?
    /// Unix time.
    package var expiry: Int?
    package var downloadLimit: Int?
    package var canRead = true
    package var canWrite = false
    package var canDownload = true
    /// The user and the workspace that the server created for it.
    let guest: String
    let workspace: String
}

extension FakePydioServer {
    /// The public links of a node, oldest first.
    package func publicLinks(of path: String, in workspace: String = "0", user: String = "ada") -> [FakePydioLink] {
        core.state.withLock { state in
            state.workspace(workspace).flatMap {
                state.shares[TreeKey(workspace: $0, user: user)]?[TreePath(path)]
            } ?? []
        }
    }
}
