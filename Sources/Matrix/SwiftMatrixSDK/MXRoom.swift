public import MatrixSDK

/// With callbacks: members and the timeline.
extension MXRoom {
    /// Hands over the live timeline.
    public func liveTimeline(_ done: @escaping (MXEventTimeline) -> Void) { done(liveTimeline) }

    /// `members()` with a callback.
    @discardableResult
    public func members(completion: @escaping (MXResponse<MXRoomMembers>) -> Void) -> MXHTTPOperation {
        rest.operation(completion) { try await self.members() }
    }
}
