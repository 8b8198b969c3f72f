public import Glibc

/// A name as it stands in a frame, so that it can be looked up without making a `String`.
@usableFromInline
package struct ByteKey: Hashable, Sendable {
    @usableFromInline package let bytes: ArraySlice<UInt8>

    @inlinable
    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    @usableFromInline
    package init(_ string: String) {
        bytes = Array(string.utf8)[...]
    }

    @inlinable
    package func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    @inlinable
    package static func == (lhs: ByteKey, rhs: ByteKey) -> Bool {
        rhs.bytes.withUnsafeBytes { lhs.equals($0) }
    }

    @inlinable
    package func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        bytes.withUnsafeBytes { own in
            guard own.count == other.count else { return false }
            guard let ownBase = own.baseAddress, let otherBase = other.baseAddress else { return true }
            return memcmp(ownBase, otherBase, own.count) == 0
        }
    }
}
