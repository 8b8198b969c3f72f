import Transport

/// The parameters of a request, without the action and the session.
///
/// Paths are absolute within their workspace, with `/` as its root. Pass them unencoded.
public protocol PydioRequestParams: Sendable {
    /// The parameters by the server's names.
    var dictionaryRepresentation: [String: PydioParameter] { get }
}

/// The parameters of a listing.
public struct ListNodesRequestParams: PydioRequestParams, Hashable {
    /// The column that a server sorts by, if supported.
    public enum Order: String, Sendable, Hashable {
        case name = "ajxp_label"
        case size = "filesize"
        case modificationTime = "ajxp_modiftime"
        case kind = "mimestring"
    }

    /// The workspace's id.
    public var workspaceId: String
    /// The folder.
    public var path: String
    /// Option letters: `d` folders, `f` files, `z` archives, `a` all of them, `l` all attributes.
    public var options = "al"
    /// The name of the only entry to list.
    public var file: String?
    /// Whether to also list the contents of folders.
    public var isRecursive = false
    /// The maximum depth of recursive listings; `nil` for the server's default.
    public var maxDepth: Int?
    /// The maximum number of nodes in recursive listings; `nil` for the server's default.
    public var maxNodes: Int?
    /// The page of a large folder, from 1. `nil` for the first one, or the whole folder.
    public var page: Int?
    /// The sort order; `nil` for the server's default.
    public var order: Order?
    /// Whether ``order`` is descending.
    public var isDescending = false
    /// Additional parameters, which override those above.
    public var additional: [String: PydioParameter] = [:]

    /// Creates an instance with the given properties.
    public init(workspaceId: String, path: String = "/") {
        (self.workspaceId, self.path) = (workspaceId, path)
    }

    /// The parameters by the server's names.
    public var dictionaryRepresentation: [String: PydioParameter] {
        var values: [String: PydioParameter] = ["tmp_repository_id": .text(workspaceId), "options": .text(options)]
        // Decoded once with the query, and again by the server for the part after the number sign.
        values["dir"] = .text(page.map { path + "%23\($0)" } ?? path)
        values["file"] = file.map { .text($0) }
        if isRecursive { values["recursive"] = "true" }
        values["max_depth"] = maxDepth.map { .text(String($0)) }
        values["max_nodes"] = maxNodes.map { .text(String($0)) }
        if let order {
            values["order_column"] = .text(order.rawValue)
            values["order_direction"] = isDescending ? "desc" : "asc"
        }
        return values.merging(additional) { $1 }
    }
}

/// The parameters of a new folder.
public struct MkDirRequestParams: PydioRequestParams, Hashable {
    /// The workspace's id.
    public var workspaceId: String
    /// The parent folder.
    public var dir: String
    /// The name of the new folder.
    public var dirname: String
    /// Additional parameters, which override those above.
    public var additional: [String: PydioParameter] = [:]

    /// Creates an instance with the given properties.
    public init(workspaceId: String, dir: String, dirname: String) {
        (self.workspaceId, self.dir, self.dirname) = (workspaceId, dir, dirname)
    }

    /// The parameters by the server's names.
    public var dictionaryRepresentation: [String: PydioParameter] {
        ["tmp_repository_id": .text(workspaceId), "dir": .text(dir), "dirname": .text(dirname)]
            .merging(additional) { $1 }
    }
}

/// The parameters of a deletion.
public struct DeleteNodesRequestParams: PydioRequestParams, Hashable {
    /// The workspace's id.
    public var workspaceId: String
    /// The full paths of the nodes.
    public var nodes: [String]
    /// The folder to delete them from. With the recycle bin's path, servers delete the nodes for good, wherever they
    /// are; otherwise they move them to the bin, and refuse nodes already in it. If `nil`, the bin is sent if all nodes
    /// are in ``PydioRecycleBin/usualPath``, otherwise nothing.
    public var dir: String?
    /// Additional parameters, which override those above.
    public var additional: [String: PydioParameter] = [:]

    /// Creates an instance with the given properties.
    public init(workspaceId: String, nodes: [String]) {
        (self.workspaceId, self.nodes) = (workspaceId, nodes)
    }

    /// The parameters by the server's names.
    public var dictionaryRepresentation: [String: PydioParameter] {
        var values: [String: PydioParameter] = ["tmp_repository_id": .text(workspaceId), "nodes": .list(nodes)]
        let areInBin = !nodes.isEmpty && nodes.allSatisfy { PydioRecycleBin.holds($0) }
        values["dir"] = (dir ?? (areInBin ? PydioRecycleBin.usualPath : nil)).map { .text($0) }
        return values.merging(additional) { $1 }
    }
}

/// The nodes to download: one file unchanged; a folder, or several nodes, as a zip archive.
public struct DownloadNodesRequestParams: PydioRequestParams, Hashable {
    /// The workspace's id.
    public var workspaceId: String
    /// The full paths of the nodes.
    public var nodes: [String]
    /// Additional parameters, which override those above.
    public var additional: [String: PydioParameter] = [:]

    /// Creates an instance with the given properties.
    public init(workspaceId: String, nodes: [String]) {
        (self.workspaceId, self.nodes) = (workspaceId, nodes)
    }

    /// The parameters by the server's names.
    public var dictionaryRepresentation: [String: PydioParameter] {
        ["tmp_repository_id": .text(workspaceId), "nodes": .list(nodes)].merging(additional) { $1 }
    }
}

/// The target of an upload.
public struct UploadNodesRequestParams: PydioRequestParams, Hashable {
    /// The workspace's id.
    public var workspaceId: String
    /// The folder for the file.
    public var dir: String
    /// The name of the file in the folder.
    public var fileName: String
    /// Whether to keep an existing file of this name, and add a number to the new one; otherwise it is replaced.
    public var keepsBoth = false
    /// Whether an existing file of this name may be replaced; if not, the upload fails if there is one. A file that
    /// appears at the same moment also stays: the new one then gets a number. No effect with ``keepsBoth``.
    ///
    /// Servers drop some characters from names, such as quotation marks. A file whose name only matches because of that
    /// is never replaced.
    public var replaces = true
    /// Additional parameters, which override those above.
    public var additional: [String: PydioParameter] = [:]

    /// Creates an instance with the given properties.
    public init(workspaceId: String, dir: String, fileName: String) {
        (self.workspaceId, self.dir, self.fileName) = (workspaceId, dir, fileName)
    }

    /// The parameters by the server's names.
    public var dictionaryRepresentation: [String: PydioParameter] {
        var values: [String: PydioParameter] = [
            "tmp_repository_id": .text(workspaceId), "dir": .text(dir),
            // The server decodes this one more time than the others.
            "urlencoded_filename": .text(fileName.percentEncoded), "xhr_uploader": "true",
        ]
        if !mayReplace { values["auto_rename"] = "true" }
        return values.merging(additional) { $1 }
    }

    /// Whether to replace an existing file with the resulting name.
    package var mayReplace: Bool { replaces && !keepsBoth && NodeName.isKept(fileName) }
}
