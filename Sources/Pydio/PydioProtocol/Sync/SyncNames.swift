/// Names that a sync generates.
package enum SyncNames {
    /// The folder of the state in the local folder. It is not synced.
    package static let stateFolder = ".pydio-sync"

    /// The maximum bytes of a name in file systems.
    private static let maximumLength = 240

    /// Returns a path next to this one for the local side of a conflict: `plan (conflict 2026-11-24).txt`.
    ///
    /// - Parameter label: A label that distinguishes conflicts for people, such as the date.
    package static func conflict(_ path: SyncPath, _ label: String, isTaken: (SyncPath) -> Bool) -> SyncPath {
        let name = path.name
        let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 == name.startIndex ? nil : $0 }
        let ending = dot.map { String(Substring(name.utf8[$0...])) } ?? ""
        let stem = String(Substring(name.utf8[..<(dot ?? name.endIndex)]))
        var number = 1
        while true {
            let mark = " (conflict \(label)\(number == 1 ? "" : " \(number)"))"
            var start = stem
            while start.utf8.count + mark.utf8.count + ending.utf8.count > maximumLength, !start.isEmpty {
                start.unicodeScalars.removeLast()
            }
            let candidate = path.parent.appending(start + mark + ending)
            if !isTaken(candidate) { return candidate }
            number += 1
        }
    }

    /// Returns the reason why servers don't accept a name; `nil` if they do.
    package static func refusal(_ path: SyncPath, isFolder: Bool, isTop: Bool) -> String? {
        let name = path.name
        if SyncUpload.isTemporary(name) { return "the name is one that syncs use for unfinished uploads; rename it" }
        if name.hasPrefix(".") { return "servers refuse names that begin with a dot; rename it to sync it" }
        if isTop, "/" + name == PydioRecycleBin.usualPath { return "the server's recycle bin has this name; rename it" }
        if isFolder, name.contains("%23") { return "servers cut the path of a folder at %23; rename it to sync it" }
        if !NodeName.isKept(name) {
            return
                "servers change this name: they take no \\ | ? \" or &…; and no space at its ends; rename it to sync it"
        }
        return nil
    }
}

/// The temporary names of an upload on the server. They are recognizable, so that an interrupted upload can be cleaned
/// up.
package struct SyncUpload: Hashable, Sendable {
    /// The id, which is part of all its names.
    package let id: String
    /// The final path of the file.
    package let path: SyncPath

    private static let prefix = "pydio-sync-"
    private static let digits = 12

    /// - Parameter random: At least 12 hexadecimal digits.
    package init(to path: SyncPath, random: String) {
        self.init(id: Self.prefix + random.prefix(Self.digits), path: path)
    }

    /// Creates the names of an upload that was started before.
    package init(id: String, path: SyncPath) {
        (self.id, self.path) = (id, path)
    }

    /// The name of the assembled file.
    package var whole: String { "\(id).upload" }
    /// The name of a part in transit.
    package var part: String { "\(id).part" }
    /// The name of the old file while it is being replaced. It starts with the original name, for people.
    package var old: String { "\(path.name.prefix(Self.shownLength)).\(id).old" }

    private static let shownLength = 40

    /// Returns whether a name is a temporary name of any upload.
    package static func isTemporary(_ name: String) -> Bool {
        [".upload", ".part"].contains { start(of: name, endingWith: $0) == "" } || shownName(of: name) != nil
    }

    /// Returns whether a file of this name may have the name `old` while it is being replaced.
    package static func isOld(_ old: String, of name: String) -> Bool {
        shownName(of: old).map { $0 == name.prefix(shownLength) } ?? false
    }

    private static func shownName(of old: String) -> Substring? {
        start(of: old, endingWith: ".old").flatMap { $0.last == "." ? $0.dropLast() : nil }
    }

    /// Returns the part before the id; `nil` if there is no id.
    private static func start(of name: String, endingWith ending: String) -> Substring? {
        guard name.hasSuffix(ending) else { return nil }
        let rest = name.dropLast(ending.count)
        let id = rest.suffix(prefix.count + digits)
        guard id.hasPrefix(prefix), id.count == prefix.count + digits,
            id.dropFirst(prefix.count).allSatisfy({ $0.isHexDigit && $0.isASCII })
        else { return nil }
        return rest.dropLast(prefix.count + digits)
    }
}
