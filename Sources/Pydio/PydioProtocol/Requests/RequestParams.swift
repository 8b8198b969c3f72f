import Transport

/// What a request sends besides the action and what belongs to the session.
///
/// Paths are absolute inside their workspace, `/` is its root, and are sent as they are: encoding is not the caller's.
public protocol PydioRequestParams: Sendable {
    /// The parameters under the names of the server.
    var dictionaryRepresentation: [String: PydioParameter] { get }
}

/// Which folder to list, and how.
public struct ListNodesRequestParams: PydioRequestParams, Hashable {
    /// The column that a server sorts by, if it can.
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
    /// Letters: `d` folders, `f` files, `z` archives, `a` all of them, `l` everything that is known of each.
    public var options = "al"
    /// Only this one of the folder's entries: its name.
    public var file: String?
    /// Whether to list what is in the folders, too.
    public var isRecursive = false
    /// How deep; for recursive listings. Nil: as the server likes.
    public var maxDepth: Int?
    /// How many nodes; for recursive listings. Nil: as the server likes.
    public var maxNodes: Int?
    /// The page of a large folder, from 1. Nil: the first one, or the whole folder.
    public var page: Int?
    /// Nil: as the server likes.
    public var order: Order?
    /// For ``order``.
    public var isDescending = false
    /// Further parameters; these win over those above.
    public var additional: [String: PydioParameter] = [:]

    /// See the properties.
    public init(workspaceId: String, path: String = "/") {
        (self.workspaceId, self.path) = (workspaceId, path)
    }

    /// The parameters under the names of the server.
    public var dictionaryRepresentation: [String: PydioParameter] {
        var values: [String: PydioParameter] = ["tmp_repository_id": .text(workspaceId), "options": .text(options)]
        // Decoded once with the query, and once more by the server for what follows the number sign.
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

/// Which folder to make.
public struct MkDirRequestParams: PydioRequestParams, Hashable {
    /// The workspace's id.
    public var workspaceId: String
    /// The folder that it will be in.
    public var dir: String
    /// Its name.
    public var dirname: String
    /// Further parameters; these win over those above.
    public var additional: [String: PydioParameter] = [:]

    /// See the properties.
    public init(workspaceId: String, dir: String, dirname: String) {
        (self.workspaceId, self.dir, self.dirname) = (workspaceId, dir, dirname)
    }

    /// The parameters under the names of the server.
    public var dictionaryRepresentation: [String: PydioParameter] {
        ["tmp_repository_id": .text(workspaceId), "dir": .text(dir), "dirname": .text(dirname)]
            .merging(additional) { $1 }
    }
}

/// Which nodes to delete.
public struct DeleteNodesRequestParams: PydioRequestParams, Hashable {
    /// The workspace's id.
    public var workspaceId: String
    /// Their full paths.
    public var nodes: [String]
    /// The folder to delete them from. With the recycle bin's path, servers delete the nodes for good, wherever they are;
    /// otherwise they move them into the bin, and refuse nodes that are in it already. Nil: the bin if all nodes are in
    /// ``PydioRecycleBin/usualPath``, otherwise nothing is sent.
    public var dir: String?
    /// Further parameters; these win over those above.
    public var additional: [String: PydioParameter] = [:]

    /// See the properties.
    public init(workspaceId: String, nodes: [String]) {
        (self.workspaceId, self.nodes) = (workspaceId, nodes)
    }

    /// The parameters under the names of the server.
    public var dictionaryRepresentation: [String: PydioParameter] {
        var values: [String: PydioParameter] = ["tmp_repository_id": .text(workspaceId), "nodes": .list(nodes)]
        let areInBin = !nodes.isEmpty && nodes.allSatisfy { PydioRecycleBin.holds($0) }
        values["dir"] = (dir ?? (areInBin ? PydioRecycleBin.usualPath : nil)).map { .text($0) }
        return values.merging(additional) { $1 }
    }
}

/// Which nodes to download: one file as it is; a folder, or several nodes, as a zip archive.
public struct DownloadNodesRequestParams: PydioRequestParams, Hashable {
    /// The workspace's id.
    public var workspaceId: String
    /// Their full paths.
    public var nodes: [String]
    /// Further parameters; these win over those above.
    public var additional: [String: PydioParameter] = [:]

    /// See the properties.
    public init(workspaceId: String, nodes: [String]) {
        (self.workspaceId, self.nodes) = (workspaceId, nodes)
    }

    /// The parameters under the names of the server.
    public var dictionaryRepresentation: [String: PydioParameter] {
        ["tmp_repository_id": .text(workspaceId), "nodes": .list(nodes)].merging(additional) { $1 }
    }
}

/// Where an upload goes.
public struct UploadNodesRequestParams: PydioRequestParams, Hashable {
    /// The workspace's id.
    public var workspaceId: String
    /// The folder that the file will be in.
    public var dir: String
    /// Its name there.
    public var fileName: String
    /// Whether a file of this name stays, and the new one gets a number; otherwise it is replaced.
    public var keepsBoth = false
    /// Whether a file of this name may be replaced; if not, the upload fails where there is one. A file that comes there at
    /// the same moment stays, too: the new one then gets a number. Without effect with ``keepsBoth``.
    ///
    /// Servers leave out some characters of a name, such as quotation marks. A file whose name only then becomes the same
    /// is never replaced.
    public var replaces = true
    /// Further parameters; these win over those above.
    public var additional: [String: PydioParameter] = [:]

    /// See the properties.
    public init(workspaceId: String, dir: String, fileName: String) {
        (self.workspaceId, self.dir, self.fileName) = (workspaceId, dir, fileName)
    }

    /// The parameters under the names of the server.
    public var dictionaryRepresentation: [String: PydioParameter] {
        var values: [String: PydioParameter] = [
            "tmp_repository_id": .text(workspaceId), "dir": .text(dir),
            // The server decodes it once more than the others.
            "urlencoded_filename": .text(fileName.percentEncoded), "xhr_uploader": "true",
        ]
        if !mayReplace { values["auto_rename"] = "true" }
        return values.merging(additional) { $1 }
    }

    /// Whether a file is to be replaced that has the name which this one will have.
    package var mayReplace: Bool { replaces && !keepsBoth && NodeName.isKept(fileName) }
}
