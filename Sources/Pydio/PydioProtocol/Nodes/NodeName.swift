import Basics

/// What servers make of the names that they are sent.
///
/// They trim a name and leave out some of its characters without a word, so that two names may become one.
package enum NodeName {
    private static let omitted: Set<Unicode.Scalar> = ["\"", "/", "|", "?", "\\", "\0"]
    private static let trimmed: Set<Unicode.Scalar> = [" ", "\t", "\n", "\r", "\0", "\u{B}"]

    /// The name as servers keep it, as far as is known; only their answer tells for certain.
    package static func stored(_ name: String) -> String {
        let inner = name.unicodeScalars.drop { trimmed.contains($0) }.reversed().drop { trimmed.contains($0) }
        var result = String.UnicodeScalarView()
        result.append(contentsOf: inner.reversed().filter { !omitted.contains($0) })
        return String(result)
    }

    /// The same for the last part of a path.
    package static func stored(path: String) -> String {
        let (folder, name) = split(path)
        return (folder == "/" ? "/" : folder + "/") + stored(name)
    }

    /// The folder of a path, without a slash at its end unless it is the top, and the last part.
    package static func split(_ path: String) -> (folder: String, name: String) {
        // By bytes: a slash and an accent after it are one character.
        var bytes = path.utf8[...]
        while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return ("/", String(Substring(bytes))) }
        let folder = String(Substring(bytes[..<slash]))
        return (folder.isEmpty ? "/" : folder, String(Substring(bytes[bytes.index(after: slash)...])))
    }

    /// The last part of a path that a server lists, if the others are the folder's, and if it can be a name anywhere.
    package static func child(_ path: String, of folder: String) -> String? {
        let prefix = folder == "/" ? "/" : folder + "/"
        guard path.utf8.starts(with: prefix.utf8) else { return nil }
        let name = String(Substring(path.utf8.dropFirst(prefix.utf8.count)))
        // By bytes: a slash and an accent after it are one character, and not a slash to Swift.
        guard !name.isEmpty, name != ".", name != "..",
            !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 })
        else { return nil }
        return name
    }

    /// Whether a server can say it: no document can hold some control characters, and the server leaves them out of its
    /// answers, though not of the name.
    package static func canBeTold(_ name: String) -> Bool {
        !name.unicodeScalars.contains {
            $0.value < 0x20 && !["\t", "\n", "\r"].contains($0) || $0.value == 0xFFFE || $0.value == 0xFFFF
        }
    }

    /// Whether it leads to its folder, or to the one above.
    package static func isDots(_ name: String) -> Bool { name == "." || name == ".." }

    /// Whether servers keep a name as it is.
    package static func isKept(_ name: String) -> Bool {
        // What looks like a character reference may be resolved.
        name.isExactly(stored(name)) && name.firstMatch(of: /&#|&[A-Za-z0-9]+;/) == nil
    }
}
