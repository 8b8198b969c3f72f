import Glibc

/// A name as it stands in a frame, so that it can be looked up without making a `String`.
package struct ByteKey: Hashable, Sendable {
    package let bytes: ArraySlice<UInt8>

    @inlinable
    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    package init(_ string: String) {
        bytes = Array(string.utf8)[...]
    }

    package func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    package static func == (lhs: ByteKey, rhs: ByteKey) -> Bool {
        lhs.bytes.withUnsafeBytes { left in
            rhs.bytes.withUnsafeBytes { right in
                guard left.count == right.count else { return false }
                guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return true }
                return memcmp(leftBase, rightBase, left.count) == 0
            }
        }
    }
}
