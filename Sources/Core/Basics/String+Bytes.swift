import Glibc

/// Texts as their bytes, which is how protocols and file systems compare them. Swift compares what they look like, so that
/// `é` in one scalar and in two are equal, and a slash and an accent after it are one character, which is no slash.
extension String {
    /// Whether both have the same bytes.
    package func isExactly(_ other: String) -> Bool { order(of: other) == 0 }

    /// Whether it comes before the other one in the order of their bytes.
    package func precedesExactly(_ other: String) -> Bool { order(of: other) < 0 }

    /// Like `memcmp`: negative if this one comes first.
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

    /// The parts of a path between slashes, without empty ones.
    package var pathSegments: [String] {
        utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    }
}
