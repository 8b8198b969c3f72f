/// How much of a document is read; more makes it unreadable.
package struct XMLLimits: Hashable, Sendable {
    package var bytes = 64 << 20
    /// Elements in elements.
    package var depth = 64
    /// Elements and attributes.
    package var nodes = 2_000_000

    package init() {}
}
