/// The data that a cell shows. Each kind of cell has a subclass, and a protocol for custom classes.
@MainActor
open class MXKCellData {
    /// Creates empty cell data.
    public init() {}
}
