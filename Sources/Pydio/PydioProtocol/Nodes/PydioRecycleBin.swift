import Basics

/// Where deleted nodes are kept.
public enum PydioRecycleBin {
    /// The bin's path in a workspace, unless an administrator has chosen another. A listing of the top of the workspace says
    /// for certain: ``NodeResponse/isRecycleBin``.
    public static let usualPath = "/recycle_bin"

    /// Whether a node is in a bin at ``usualPath``. The bin itself is not.
    public static func holds(_ path: String) -> Bool {
        path.utf8.starts(with: (usualPath + "/").utf8) && path.utf8.count > usualPath.utf8.count + 1
    }

    /// The folder at the top of the workspace that a node is in; for a node in the bin, the bin.
    package static func topFolder(of path: String) -> String? {
        path.pathSegments.first.map { "/" + $0 }
    }
}
