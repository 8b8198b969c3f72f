/// The progress of a transfer.
public struct PydioTransferProgress: Sendable, Hashable {
    /// The number of transferred bytes of the file.
    public let completed: Int64
    /// The number of bytes of the whole file; `nil` if unknown.
    public let total: Int64?

    init(completed: Int64, total: Int64?) {
        (self.completed, self.total) = (completed, total)
    }
}
