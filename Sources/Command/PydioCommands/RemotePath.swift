import ArgumentParser
import Basics
import PydioSDK

/// Where something is on a Pydio server, as users write it: `WORKSPACE:/path`.
struct RemotePath: Hashable, Sendable, CustomStringConvertible {
    /// An id, a slug or a label.
    let workspace: String
    /// Begins with a slash and ends with none; the top of a workspace is `/`.
    let path: String
    /// Whether it was written as a folder, with a slash at its end.
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

    /// Empty for the top.
    var name: String { NodeName.split(path).name }

    /// The folder that it is in; the top is its own.
    var parent: RemotePath {
        RemotePath(workspace: workspace, path: NodeName.split(path).folder, isFolder: true)
    }

    func appending(_ name: String) -> RemotePath {
        RemotePath(workspace: workspace, path: isTop ? "/" + name : "\(path)/\(name)", isFolder: false)
    }

    /// Where servers put what comes there, as far as is known: they leave out some characters of names.
    var stored: RemotePath {
        let name = NodeName.stored(name)
        return isTop || name.isEmpty ? self : parent.appending(name)
    }

    /// All folders above it, the outermost first, without the top.
    var ancestors: [RemotePath] {
        isTop || parent.isTop ? [] : parent.ancestors + [parent]
    }

    /// Whether it is this or in it.
    func isWithin(_ folder: RemotePath) -> Bool {
        folder.isTop || path.isExactly(folder.path) || path.startsExactly(with: folder.path + "/")
    }

    var description: String { "\(workspace):\(path)" }

    static func == (left: Self, right: Self) -> Bool {
        left.isFolder == right.isFolder && left.description.isExactly(right.description)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(ByteKey(description)) }
}
