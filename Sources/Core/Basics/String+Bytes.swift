/// Texts as their bytes, which is how protocols and file systems compare them. Swift compares what they look like, so that
/// `é` in one scalar and in two are equal, and a slash and an accent after it are one character, which is no slash.
extension String {
    /// Whether both have the same bytes.
    package func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    package func startsExactly(with prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    package var hasSlash: Bool { utf8.contains(UInt8(ascii: "/")) }

    /// The parts of a path between slashes, without empty ones.
    package var pathSegments: [String] {
        utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    }
}
