/// How much of a document is read; more makes it unreadable.
package struct XMLLimits: Hashable, Sendable {
    package var bytes = 64 << 20
    /// Elements in elements.
    package var depth = 64
    /// Bytes that the tree takes, about: `<a/>` has 4 bytes as text, and costs a hundred times as much.
    package var memory = 192 << 20

    package init() {}
}
