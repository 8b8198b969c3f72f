import Basics

/// The recycle bin, which holds deleted nodes.
public enum PydioRecycleBin {
    /// The bin's path in a workspace, unless an administrator has chosen another. To be certain, check
    /// ``NodeResponse/isRecycleBin`` in a listing of the workspace's root.
    public static let usualPath = "/recycle_bin"

    /// Returns whether a node is in a bin at ``usualPath``; false for the bin itself.
    public static func holds(_ path: String) -> Bool {
        path.utf8.starts(with: (usualPath + "/").utf8) && path.utf8.count > usualPath.utf8.count + 1
    }

    /// Returns the top-level folder of the workspace that contains a node; for a node in the bin, the bin.
    package static func topFolder(of path: String) -> String? {
        path.pathSegments.first.map { "/" + $0 }
    }
}
