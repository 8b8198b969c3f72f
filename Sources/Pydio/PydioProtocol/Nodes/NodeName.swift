import Basics

/// The rules by which servers change the names that they are sent.
///
/// They silently trim a name and drop some of its characters, so that two names may become one.
package enum NodeName {
    private static let omitted: Set<Unicode.Scalar> = ["\"", "/", "|", "?", "\\", "\0"]
    private static let trimmed: Set<Unicode.Scalar> = [" ", "\t", "\n", "\r", "\0", "\u{B}"]

    /// Returns the name as servers store it, as far as known; only their answer is certain.
    package static func stored(_ name: String) -> String {
        let inner = name.unicodeScalars.drop { trimmed.contains($0) }.reversed().drop { trimmed.contains($0) }
        var result = String.UnicodeScalarView()
        result.append(contentsOf: inner.reversed().filter { !omitted.contains($0) })
        return String(result)
    }

    /// Returns a path whose last part is the name as servers store it.
    package static func stored(path: String) -> String {
        let (folder, name) = split(path)
        return (folder == "/" ? "/" : folder + "/") + stored(name)
    }

    /// Returns the folder of a path, without a trailing slash unless it is the root, and the last part.
    package static func split(_ path: String) -> (folder: String, name: String) {
        // By bytes: a slash followed by an accent is one character.
        var bytes = path.utf8[...]
        while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return ("/", String(Substring(bytes))) }
        let folder = String(Substring(bytes[..<slash]))
        return (folder.isEmpty ? "/" : folder, String(Substring(bytes[bytes.index(after: slash)...])))
    }

    /// Returns the last part of a path in a server's listing, if the rest is the folder, and if the part is a valid
    /// name everywhere.
    package static func child(_ path: String, of folder: String) -> String? {
        let prefix = folder == "/" ? "/" : folder + "/"
        guard path.utf8.starts(with: prefix.utf8) else { return nil }
        let name = String(Substring(path.utf8.dropFirst(prefix.utf8.count)))
        // By bytes: to Swift, a slash followed by an accent is one character, and not a slash.
        guard !name.isEmpty, name != ".", name != "..",
            !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 })
        else { return nil }
        return name
    }

    /// Returns whether a server can report the name: documents cannot contain some control characters, which the server
    /// omits from its answers but not from the name.
    package static func canBeTold(_ name: String) -> Bool {
        !name.unicodeScalars.contains {
            $0.value < 0x20 && !["\t", "\n", "\r"].contains($0) || $0.value == 0xFFFE || $0.value == 0xFFFF
        }
    }

    /// Returns whether the name refers to its folder or the parent.
    package static func isDots(_ name: String) -> Bool { name == "." || name == ".." }

    /// Returns whether servers store a name unchanged.
    package static func isKept(_ name: String) -> Bool {
        // Servers may resolve text that looks like a character reference.
        name.isExactly(stored(name)) && name.firstMatch(of: /&#|&[A-Za-z0-9]+;/) == nil
    }
}
