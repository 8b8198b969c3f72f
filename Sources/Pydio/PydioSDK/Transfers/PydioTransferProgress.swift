/// How far a transfer has come.
public struct PydioTransferProgress: Sendable, Hashable {
    /// Bytes of the file.
    public let completed: Int64
    /// Bytes of the whole file; nil if the server has not said.
    public let total: Int64?

    init(completed: Int64, total: Int64?) {
        (self.completed, self.total) = (completed, total)
    }
}
