public import MatrixSDK

/// Callback variants: receipts, typing, presence.
extension MXRestClient {
    /// `sendReadReceipt(toRoom:forEvent:threadId:isPrivate:)` with a callback.
    @discardableResult
    public func sendReadReceipt(
        toRoom roomId: String, forEvent eventId: String, threadId: String? = nil, isPrivate: Bool = false,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.sendReadReceipt(toRoom: roomId, forEvent: eventId, threadId: threadId, isPrivate: isPrivate)
        }
    }

    /// `sendReadMarkers(toRoom:fullyRead:read:privateRead:)` with a callback.
    @discardableResult
    public func sendReadMarkers(
        toRoom roomId: String, fullyRead: String? = nil, read: String? = nil, privateRead: String? = nil,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.sendReadMarkers(toRoom: roomId, fullyRead: fullyRead, read: read, privateRead: privateRead)
        }
    }

    /// `sendTypingNotification(inRoom:typing:timeout:)` with a callback.
    @discardableResult
    public func sendTypingNotification(
        inRoom roomId: String, typing: Bool, timeout: Duration = .seconds(30),
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.sendTypingNotification(inRoom: roomId, typing: typing, timeout: timeout)
        }
    }

    /// `setPresence(_:statusMessage:)` with a callback.
    @discardableResult
    public func setPresence(
        _ presence: MXPresence, statusMessage: String? = nil, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.setPresence(presence, statusMessage: statusMessage) }
    }

    /// `presence(ofUser:)` with a callback.
    @discardableResult
    public func presence(ofUser userId: String, completion: @escaping (MXResponse<MXPresenceStatus>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.presence(ofUser: userId) }
    }
}
