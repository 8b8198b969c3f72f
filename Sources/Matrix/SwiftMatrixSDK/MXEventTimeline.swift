public import MatrixSDK

/// Callback variant of pagination.
extension MXEventTimeline {
    /// `paginate(_:direction:onlyFromStore:)` with a callback, which is called after the listeners.
    @discardableResult
    public func paginate(
        _ count: UInt, direction: MXTimelineDirection, onlyFromStore: Bool,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation? {
        let page = queuedPage(count, direction, onlyFromStore: onlyFromStore)
        return rest.operation(completion) { _ = try await page() }
    }
}
