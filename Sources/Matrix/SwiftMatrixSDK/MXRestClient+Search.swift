public import MatrixSDK

/// Callback variants: searching messages and users.
extension MXRestClient {
    /// `searchMessages(_:inRooms:limit:before:after:byRank:nextBatch:)` with a callback.
    @discardableResult
    public func searchMessages(
        _ pattern: String, inRooms rooms: [String]? = nil, limit: Int? = nil, before: Int = 0, after: Int = 0,
        byRank: Bool = false, nextBatch: String? = nil, completion: @escaping (MXResponse<MXSearchResults>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.searchMessages(
                pattern, inRooms: rooms, limit: limit, before: before, after: after, byRank: byRank,
                nextBatch: nextBatch)
        }
    }

    /// `searchUsers(_:limit:)` with a callback.
    @discardableResult
    public func searchUsers(
        _ pattern: String, limit: Int? = nil, completion: @escaping (MXResponse<MXUserSearchResponse>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.searchUsers(pattern, limit: limit) }
    }
}
