/// How far a transfer has come.
public struct MXTransferProgress: Sendable, Hashable {
    /// Bytes.
    public let completed: Int64
    /// Bytes; nil if the server has not said.
    public let total: Int64?

    package init(completed: Int64, total: Int64?) {
        (self.completed, self.total) = (completed, total)
    }
}
