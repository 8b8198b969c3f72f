public import Glibc

/// A peer's identifier or name, compared by its bytes as the protocols do. Use it wherever a peer's texts are keys:
/// `String` considers canonically equivalent texts equal, such as `é` in one scalar and in two.
///
/// A key can be a slice of a frame, so a lookup needs no `String`.
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

    /// The text. Bytes that are not UTF-8 become U+FFFD; a key made from a `String` has none.
    package var string: String { String(decoding: bytes, as: UTF8.self) }

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
