import Basics

/// One segment of a URL's path, made from any text: the one way of a name or an id into a path.
package struct PathSegment: Hashable, Sendable {
    /// Ready to stand between two slashes.
    package let escaped: String

    /// - Returns: Nil if the text is none that a server gets as it is: empty, `.` and `..`, which libraries, proxies and
    ///   servers resolve, whatever was signed.
    package init?(_ text: String) {
        guard !text.isEmpty, text != ".", text != ".." else { return nil }
        escaped = text.percentEncoded
    }

    /// Whether the path of a URL has a segment `.` or `..`, escaped or not.
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
