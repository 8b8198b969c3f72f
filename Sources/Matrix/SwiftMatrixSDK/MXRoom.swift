public import MatrixSDK

/// Callback variants: members and the timeline.
extension MXRoom {
    /// Passes the live timeline to `done`.
    public func liveTimeline(_ done: @escaping (MXEventTimeline) -> Void) { done(liveTimeline) }

    /// `members()` with a callback.
    @discardableResult
    public func members(completion: @escaping (MXResponse<MXRoomMembers>) -> Void) -> MXHTTPOperation {
        rest.operation(completion) { try await self.members() }
    }
}
