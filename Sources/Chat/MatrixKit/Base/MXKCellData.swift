/// What a cell shows. The kinds of cells have subclasses, and protocols for whoever brings classes of their own.
@MainActor
open class MXKCellData {
    /// Nothing yet.
    public init() {}
}
