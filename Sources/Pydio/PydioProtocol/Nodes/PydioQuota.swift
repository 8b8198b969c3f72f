/// How much of a workspace's storage is in use.
public struct PydioQuota: Sendable, Hashable {
    /// Bytes in use, as the server counts them: it may add up several workspaces of the user.
    public let used: Int64
    /// Bytes that may be in use; nil if the server sets no limit.
    public let total: Int64?

    /// See the properties.
    public init(used: Int64, total: Int64?) {
        (self.used, self.total) = (used, total)
    }

    /// - Returns: Nil if it does not say how much is in use.
    init?(json: [String: Any]) {
        guard let used = JSONNumber.integer(json["USAGE"]) else { return nil }
        // Without a limit it is 0, empty or false.
        let total = JSONNumber.integer(json["TOTAL"]) ?? 0
        self.init(used: max(used, 0), total: total > 0 ? total : nil)
    }
}
