import ArgumentParser
import Basics
import PydioSDK

/// A path on a Pydio server in the user's notation: `WORKSPACE:/path`.
struct RemotePath: Hashable, Sendable, CustomStringConvertible {
    /// The id, slug or label.
    let workspace: String
    /// The path, with a leading but no trailing slash; `/` is the root of the workspace.
    let path: String
    /// Whether the path was written with a trailing slash.
    let isFolder: Bool

    init(_ text: String) throws(ValidationError) {
        let end = text.utf8.last == UInt8(ascii: ":") ? text.utf8.index(before: text.utf8.endIndex) : nil
        guard let colon = text.utf8.firstRange(of: ":/".utf8)?.lowerBound ?? end, colon != text.startIndex else {
            throw ValidationError("a path on the server is WORKSPACE:/path; WORKSPACE: is the top of a workspace.")
        }
        let rest = text[text.utf8.index(after: colon)...]
        let names = String(rest).pathSegments
        guard !names.contains(where: { $0 == "." || $0 == ".." || $0.utf8.contains(0) }) else {
            throw ValidationError("a path on the server is a full one, without . and ..")
        }
        self.init(
            workspace: String(text[..<colon]), path: "/" + names.joined(separator: "/"),
            isFolder: names.isEmpty || rest.utf8.last == UInt8(ascii: "/"))
    }

    private init(workspace: String, path: String, isFolder: Bool) {
        (self.workspace, self.path, self.isFolder) = (workspace, path, isFolder)
    }

    var isTop: Bool { path == "/" }

    /// The last part; empty for the root.
    var name: String { NodeName.split(path).name }

    /// The enclosing folder; the root is its own parent.
    var parent: RemotePath {
        RemotePath(workspace: workspace, path: NodeName.split(path).folder, isFolder: true)
    }

    func appending(_ name: String) -> RemotePath {
        RemotePath(workspace: workspace, path: isTop ? "/" + name : "\(path)/\(name)", isFolder: false)
    }

    /// The path at which servers store a node, as far as is known: they remove some characters from names.
    var stored: RemotePath {
        let name = NodeName.stored(name)
        return isTop || name.isEmpty ? self : parent.appending(name)
    }

    /// The enclosing folders, outermost first, without the root.
    var ancestors: [RemotePath] {
        isTop || parent.isTop ? [] : parent.ancestors + [parent]
    }

    /// Returns whether the path is this folder or within it.
    func isWithin(_ folder: RemotePath) -> Bool {
        folder.isTop || path.isExactly(folder.path) || path.startsExactly(with: folder.path + "/")
    }

    var description: String { "\(workspace):\(path)" }

    static func == (left: Self, right: Self) -> Bool {
        left.isFolder == right.isFolder && left.description.isExactly(right.description)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(ByteKey(description)) }
}
