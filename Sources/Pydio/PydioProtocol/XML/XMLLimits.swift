/// Limits on a document; one that exceeds them is unreadable.
package struct XMLLimits: Hashable, Sendable {
    package var bytes = 64 << 20
    /// The maximum nesting of elements.
    package var depth = 64
    /// The approximate maximum memory of the tree in bytes: `<a/>` has 4 bytes as text, and takes a hundred times as
    /// much.
    package var memory = 192 << 20

    package init() {}
}
