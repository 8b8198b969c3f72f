public import MatrixSDK

/// Callback variants: reading and typing.
extension MXRoom {
    /// `sendTypingNotification(typing:timeout:)` with a callback.
    @discardableResult
    public func sendTypingNotification(
        typing: Bool, timeout: TimeInterval?, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.sendTypingNotification(typing: typing, timeout: timeout) }
    }

    /// `markAllAsRead()` with an optional callback.
    @discardableResult
    public func markAllAsRead(completion: ((MXResponse<Void>) -> Void)? = nil) -> MXHTTPOperation {
        rest.operation(completion ?? { _ in }) { try await self.markAllAsRead() }
    }

    /// `sendReadReceipt(_:threadId:)` with a callback.
    @discardableResult
    public func sendReadReceipt(
        _ eventId: String, threadId: String? = nil, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.sendReadReceipt(eventId, threadId: threadId) }
    }
}
