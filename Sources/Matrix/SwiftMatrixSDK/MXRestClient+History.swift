public import MatrixSDK

/// Callback variants: a room's history, contexts, relations, threads.
extension MXRestClient {
    /// `messages(forRoom:from:to:direction:limit:filter:)` with a callback.
    @discardableResult
    public func messages(
        forRoom roomId: String, from: String? = nil, to: String? = nil, direction: MXTimelineDirection = .backwards,
        limit: Int = 10, filter: String? = nil, completion: @escaping (MXResponse<MXPaginationResponse>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.messages(
                forRoom: roomId, from: from, to: to, direction: direction, limit: limit, filter: filter)
        }
    }

    /// `contextOfEvent(_:inRoom:limit:filter:)` with a callback.
    @discardableResult
    public func contextOfEvent(
        _ eventId: String, inRoom roomId: String, limit: Int = 10, filter: String? = nil,
        completion: @escaping (MXResponse<MXEventContext>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.contextOfEvent(eventId, inRoom: roomId, limit: limit, filter: filter) }
    }

    /// `event(withId:inRoom:)` with a callback.
    @discardableResult
    public func event(
        withId eventId: String, inRoom roomId: String, completion: @escaping (MXResponse<MXEvent>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.event(withId: eventId, inRoom: roomId) }
    }

    /// `relations(forEvent:inRoom:relationType:eventType:from:limit:direction:)` with a callback.
    @discardableResult
    public func relations(
        forEvent eventId: String, inRoom roomId: String, relationType: String? = nil, eventType: MXEventType? = nil,
        from: String? = nil, limit: Int? = nil, direction: MXTimelineDirection = .backwards,
        completion: @escaping (MXResponse<MXRelationsResponse>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.relations(
                forEvent: eventId, inRoom: roomId, relationType: relationType, eventType: eventType, from: from,
                limit: limit, direction: direction)
        }
    }

    /// `threads(inRoom:participatedOnly:from:limit:)` with a callback.
    @discardableResult
    public func threads(
        inRoom roomId: String, participatedOnly: Bool = false, from: String? = nil, limit: Int? = nil,
        completion: @escaping (MXResponse<MXRelationsResponse>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.threads(inRoom: roomId, participatedOnly: participatedOnly, from: from, limit: limit)
        }
    }
}
