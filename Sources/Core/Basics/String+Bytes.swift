import Glibc

/// Texts as bytes, which is how protocols and file systems compare them. Swift compares user-perceived characters: `é`
/// in one scalar and in two are equal, and a slash followed by a combining accent is one character, not a slash.
extension String {
    /// Returns whether both have the same bytes.
    package func isExactly(_ other: String) -> Bool { order(of: other) == 0 }

    /// Returns whether it precedes the other text in byte order.
    package func precedesExactly(_ other: String) -> Bool { order(of: other) < 0 }

    /// Compares like `memcmp`: negative if this text comes first.
    private func order(of other: String) -> Int {
        var (own, other) = (self, other)
        return own.withUTF8 { own in
            other.withUTF8 { other in
                guard let ownBytes = own.baseAddress, let otherBytes = other.baseAddress,
                    case let order = memcmp(ownBytes, otherBytes, min(own.count, other.count)), order != 0
                else { return own.count - other.count }
                return Int(order)
            }
        }
    }

    package func startsExactly(with prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    package var hasSlash: Bool { utf8.contains(UInt8(ascii: "/")) }

    /// The non-empty parts of a path between slashes.
    package var pathSegments: [String] {
        utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    }
}
