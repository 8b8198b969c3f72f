/// The used and total storage of a workspace.
public struct PydioQuota: Sendable, Hashable {
    /// The bytes in use, as counted by the server: it may add up several workspaces of the user.
    public let used: Int64
    /// The maximum bytes; `nil` if the server sets no limit.
    public let total: Int64?

    /// Creates an instance with the given properties.
    public init(used: Int64, total: Int64?) {
        (self.used, self.total) = (used, total)
    }

    /// - Returns: `nil` if the used storage is missing.
    init?(json: [String: Any]) {
        guard let used = JSONNumber.integer(json["USAGE"]) else { return nil }
        // Without a limit, the value is 0, empty or false.
        let total = JSONNumber.integer(json["TOTAL"]) ?? 0
        self.init(used: max(used, 0), total: total > 0 ? total : nil)
    }
}
