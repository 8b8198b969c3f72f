import Basics

/// One segment of a URL's path, made from any text. Names and IDs enter a path only this way.
package struct PathSegment: Hashable, Sendable {
    /// The escaped text, to be placed between two slashes.
    package let escaped: String

    /// - Returns: `nil` for a text that no server receives unchanged: empty, `.` and `..`, which libraries, proxies and
    ///   servers resolve, whatever was signed.
    package init?(_ text: String) {
        guard !text.isEmpty, text != ".", text != ".." else { return nil }
        escaped = text.percentEncoded
    }

    /// Returns whether a URL's path has a segment `.` or `..`, escaped or not.
    package static func hasDots(path: String) -> Bool {
        path.pathSegments.contains { isDots($0) }
    }

    private static func isDots(_ segment: String) -> Bool {
        var dots = 0
        var rest = segment.utf8[...]
        while let first = rest.first {
            if first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if rest.prefix(3).elementsEqual("%2e".utf8) || rest.prefix(3).elementsEqual("%2E".utf8) {
                rest = rest.dropFirst(3)
            } else {
                return false
            }
            dots += 1
        }
        return dots == 1 || dots == 2
    }
}
