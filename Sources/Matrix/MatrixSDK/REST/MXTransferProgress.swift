/// The progress of a transfer.
public struct MXTransferProgress: Sendable, Hashable {
    /// The bytes transferred.
    public let completed: Int64
    /// The total bytes; `nil` if the server has not reported it.
    public let total: Int64?

    package init(completed: Int64, total: Int64?) {
        (self.completed, self.total) = (completed, total)
    }
}
