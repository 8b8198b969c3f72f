import MatrixProtocol

extension MXRestClient {
    /// Returns a page of a room's history.
    ///
    /// - Parameters:
    ///   - from: The token to start at, from a sync or another page; `nil` starts at the newest event, or at the oldest
    ///     when paginating forwards.
    ///   - to: The token to stop at.
    ///   - filter: The JSON text of a room event filter.
    public func messages(
        forRoom roomId: String, from: String? = nil, to: String? = nil, direction: MXTimelineDirection = .backwards,
        limit: Int = 10, filter: String? = nil
    ) async throws -> MXPaginationResponse {
        let call = APICall(
            .get, "v3/rooms/\(roomId)/messages",
            query: [
                ("dir", direction.parameter), ("from", from), ("to", to), ("limit", String(limit)), ("filter", filter),
            ])
        let answer = try await json(call)
        return MXPaginationResponse(
            chunk: answer["chunk"]?.events(inRoom: roomId) ?? [], state: answer["state"]?.events(inRoom: roomId) ?? [],
            start: answer["start"]?.string, end: answer["end"]?.string)
    }

    /// Returns an event and the events around it.
    ///
    /// - Parameter limit: The maximum number of events on both sides together.
    public func contextOfEvent(_ eventId: String, inRoom roomId: String, limit: Int = 10, filter: String? = nil)
        async throws -> MXEventContext
    {
        let call = APICall(
            .get, "v3/rooms/\(roomId)/context/\(eventId)", query: [("limit", String(limit)), ("filter", filter)])
        let answer = try await json(call)
        guard let event = answer["event"].flatMap({ MXEvent(json: $0, roomId: roomId) }) else {
            throw Self.unexpected(call)
        }
        return MXEventContext(
            event: event, eventsBefore: answer["events_before"]?.events(inRoom: roomId) ?? [],
            eventsAfter: answer["events_after"]?.events(inRoom: roomId) ?? [],
            state: answer["state"]?.events(inRoom: roomId) ?? [], start: answer["start"]?.string,
            end: answer["end"]?.string)
    }

    /// Returns an event.
    public func event(withId eventId: String, inRoom roomId: String) async throws -> MXEvent {
        let call = APICall(.get, "v3/rooms/\(roomId)/event/\(eventId)")
        guard let event = MXEvent(json: try await json(call), roomId: roomId) else { throw Self.unexpected(call) }
        return event
    }

    /// Returns events that relate to an event: edits, reactions, replies in its thread.
    ///
    /// - Parameters:
    ///   - relationType: A relation type such as `m.annotation`; `nil` for all.
    ///   - eventType: Only return events of this type. Requires a `relationType`.
    ///   - from: ``MXRelationsResponse/nextBatch`` of the previous page.
    public func relations(
        forEvent eventId: String, inRoom roomId: String, relationType: String? = nil, eventType: MXEventType? = nil,
        from: String? = nil, limit: Int? = nil, direction: MXTimelineDirection = .backwards
    ) async throws -> MXRelationsResponse {
        let query = [("from", from), ("limit", limit.map(String.init)), ("dir", direction.parameter)]
        let path: EndpointPath
        switch (relationType, eventType?.identifier) {
        case (let relation?, let type?): path = "v1/rooms/\(roomId)/relations/\(eventId)/\(relation)/\(type)"
        case (let relation?, nil): path = "v1/rooms/\(roomId)/relations/\(eventId)/\(relation)"
        case (nil, _): path = "v1/rooms/\(roomId)/relations/\(eventId)"
        }
        let answer = try await json(APICall(.get, path, query: query))
        return MXRelationsResponse(
            chunk: answer["chunk"]?.events(inRoom: roomId) ?? [], nextBatch: answer["next_batch"]?.string)
    }

    /// Returns every event that refers to a poll: its votes and the events that end it.
    package func votes(onPoll eventId: String, inRoom roomId: String) async throws -> [MXEvent] {
        var (votes, token): ([MXEvent], String?) = ([], nil)
        // More pages than any poll needs.
        for _ in 0..<200 {
            let page = try await relations(
                forEvent: eventId, inRoom: roomId, relationType: "m.reference", from: token, limit: 100)
            votes += page.chunk
            guard let next = page.nextBatch, next != token else { break }
            token = next
        }
        return votes
    }

    /// Returns the root events of a room's threads, newest first.
    ///
    /// - Parameter participatedOnly: Only return threads in which the user wrote.
    public func threads(inRoom roomId: String, participatedOnly: Bool = false, from: String? = nil, limit: Int? = nil)
        async throws -> MXRelationsResponse
    {
        let call = APICall(
            .get, "v1/rooms/\(roomId)/threads",
            query: [
                ("include", participatedOnly ? "participated" : "all"), ("from", from),
                ("limit", limit.map(String.init)),
            ])
        let answer = try await json(call)
        return MXRelationsResponse(
            chunk: answer["chunk"]?.events(inRoom: roomId) ?? [], nextBatch: answer["next_batch"]?.string)
    }
}

extension MXTimelineDirection {
    var parameter: String {
        switch self {
        case .forwards: "f"
        case .backwards: "b"
        }
    }
}

/// A page of a room's history.
public struct MXPaginationResponse: Sendable {
    /// The events; newest first when paginating backwards. May be empty even if there are more.
    public let chunk: [MXEvent]
    /// The membership events of these events' senders, when members are loaded lazily.
    public let state: [MXEvent]
    /// The token at which this page starts.
    public let start: String?
    /// The token of the next page; `nil` at the end.
    public let end: String?
}

/// An event and the events around it.
public struct MXEventContext: Sendable {
    /// The event itself.
    public let event: MXEvent
    /// The events before it, newest first.
    public let eventsBefore: [MXEvent]
    /// The events after it, oldest first.
    public let eventsAfter: [MXEvent]
    /// The room's state at the last of these events.
    public let state: [MXEvent]
    /// The token for the events before these.
    public let start: String?
    /// The token for the events after these.
    public let end: String?
}

/// A page of related events.
public struct MXRelationsResponse: Sendable {
    /// The events, newest first unless requested otherwise.
    public let chunk: [MXEvent]
    /// The token of the next page; `nil` on the last.
    public let nextBatch: String?
}
