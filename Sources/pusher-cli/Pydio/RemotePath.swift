import ArgumentParser
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
        guard
            let colon = text.firstRange(of: ":/")?.lowerBound ?? (text.hasSuffix(":") ? text.lastIndex(of: ":") : nil),
            colon != text.startIndex
        else {
            throw ValidationError("a path on the server is WORKSPACE:/path; WORKSPACE: is the top of a workspace.")
        }
        let rest = text[text.index(after: colon)...]
        let names = rest.unicodeScalars.split(separator: "/").map { String($0) }
        guard !names.contains(where: { $0 == "." || $0 == ".." || $0.utf8.contains(0) }) else {
            throw ValidationError("a path on the server is a full one, without . and ..")
        }
        self.init(
            workspace: String(text[..<colon]), path: "/" + names.joined(separator: "/"),
            isFolder: names.isEmpty || rest.unicodeScalars.last == "/")
    }

    private init(workspace: String, path: String, isFolder: Bool) {
        (self.workspace, self.path, self.isFolder) = (workspace, path, isFolder)
    }

    var isTop: Bool { path == "/" }

    /// Empty for the top.
    var name: String { String(path[(path.lastIndex(of: "/") ?? path.startIndex)...].dropFirst()) }

    /// The folder that it is in; the top is its own.
    var parent: RemotePath {
        let folder = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
        return RemotePath(workspace: workspace, path: folder.isEmpty ? "/" : String(folder), isFolder: true)
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
        path == folder.path || folder.isTop || path.hasPrefix(folder.path + "/")
    }

    var description: String { "\(workspace):\(path)" }
}
