/// The XML of a node in listings and diffs.
struct NodeElement {
    let path: TreePath
    let node: Node
    let mode: FakePydioMode
    var now = 0
    var isBookmarked = false
    var isReadOnly = false
    /// Whether all details are included, not just the name.
    var isFull = true
    /// The user who made the request.
    var user = ""
    var plugins = Set(FakePydioPlugin.allCases)

    private var isBin: Bool { path == .recycleBin }
    var isArchive: Bool { !node.isFolder && path.name.lowercased().hasSuffix(".zip") }
    private var isImage: Bool { [".png", ".jpg", ".jpeg", ".gif"].contains { path.name.lowercased().hasSuffix($0) } }

    var attributes: [(String, String)] {
        var result = [
            ("is_file", String(!node.isFolder)), ("filename", path.text),
            ("text", isBin ? "Recycle Bin" : path.name + lockNote),
        ]
        if node.isFolder {
            result.append(("ajxp_mime", isBin ? "ajxp_recycle" : "ajxp_folder"))
            result.append(("icon", isBin ? "trashcan.png" : "folder.png"))
        } else if isArchive {
            result.append(("ajxp_mime", "ajxp_browsable_archive"))
        }
        return isFull ? result + metadata : result
    }

    private var metadata: [(String, String)] {
        var result = [("ajxp_modiftime", String(node.modified)), ("bytesize", String(node.size))]
        result.append(("filesize", node.isFolder ? "-" : Self.shown(node.size)))
        result.append(("file_perms", node.mode))
        if !node.isFolder {
            result += [
                ("mimestring", isArchive ? "Zip file" : isImage ? "Image" : "Text file"), ("mimestring_id", "10"),
                ("file_group", "33"), ("file_owner", "33"),
            ]
            result.append(("is_image", isImage ? "1" : "0"))
            if isImage { result += [("image_width", "1"), ("image_height", "1")] }
        }
        result += notes
        if isBookmarked { result.append(("ajxp_bookmarked", "true")) }
        if isReadOnly { result.append(("ajxp_readonly", "true")) }
        if mode == .v8 { result.append(("ajxp_relativetime", "\(max(now - node.modified, 0)) seconds ago")) }
        return result
    }

    private var notes: [(String, String)] {
        var result: [(String, String)] = []
        if plugins.contains(.metadata) {
            result.append(("meta_fields", NodeNotes.fields.map(\.0).joined(separator: ",")))
            result.append(("meta_labels", NodeNotes.fields.map(\.1).joined(separator: ",")))
            result += node.notes.metadata.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
        if plugins.contains(.locks), let owner = node.notes.lock {
            result.append(("sl_locked", "true"))
            if owner == user { result.append(("sl_mylock", "true")) }
        }
        if plugins.contains(.watches), let watch = node.notes.watches[user] { result.append(("meta_watched", watch)) }
        return result
    }

    /// The lock as newer servers mention it in the display text.
    private var lockNote: String {
        guard mode == .v8, plugins.contains(.locks), let owner = node.notes.lock else { return "" }
        return " (locked by \(owner == user ? "you" : owner))"
    }

    /// The display text: `42 b`, `77,61 Kb`.
    static func shown(_ size: Int) -> String {
        guard size >= 1024 else { return "\(size) b" }
        var (value, unit) = (size * 100 / 1024, 0)
        let units = ["Kb", "Mb", "Gb"]
        while value >= 102_400 && unit + 1 < units.count { (value, unit) = (value / 1024, unit + 1) }
        return "\(value / 100),\(value % 100 < 10 ? "0" : "")\(value % 100) \(units[unit])"
    }
}
