import MatrixProtocol

extension MXRestClient {
    /// A page of a room's history.
    ///
    /// - Parameters:
    ///   - from: Where it begins: a token of a sync or of another page; nil is the newest event, or the first of all.
    ///   - to: Where it ends at the latest.
    ///   - filter: JSON text of a room event filter.
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

    /// An event, and what was said around it.
    ///
    /// - Parameter limit: Events on both sides together.
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

    /// One event.
    public func event(withId eventId: String, inRoom roomId: String) async throws -> MXEvent {
        let call = APICall(.get, "v3/rooms/\(roomId)/event/\(eventId)")
        guard let event = MXEvent(json: try await json(call), roomId: roomId) else { throw Self.unexpected(call) }
        return event
    }

    /// Events that relate to one: edits, reactions, replies in its thread.
    ///
    /// - Parameters:
    ///   - relationType: Such as `m.annotation`; nil is all.
    ///   - eventType: Only these; counts with a `relationType` alone.
    ///   - from: ``MXRelationsResponse/nextBatch`` of the page before.
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

    /// Everything that refers to a poll: its votes and what ends it.
    package func votes(onPoll eventId: String, inRoom roomId: String) async throws -> [MXEvent] {
        var (votes, token): ([MXEvent], String?) = ([], nil)
        // More pages than anybody votes.
        for _ in 0..<200 {
            let page = try await relations(
                forEvent: eventId, inRoom: roomId, relationType: "m.reference", from: token, limit: 100)
            votes += page.chunk
            guard let next = page.nextBatch, next != token else { break }
            token = next
        }
        return votes
    }

    /// The threads of a room, newest first: their roots.
    ///
    /// - Parameter participatedOnly: Those in which the user wrote.
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
    /// Backwards: newest first. May be empty though there is more.
    public let chunk: [MXEvent]
    /// Members who wrote these events, when members are loaded lazily.
    public let state: [MXEvent]
    /// Where it begins.
    public let start: String?
    /// Where the next page begins; nil at the end.
    public let end: String?
}

/// What was said around an event.
public struct MXEventContext: Sendable {
    /// The event itself.
    public let event: MXEvent
    /// Newest first.
    public let eventsBefore: [MXEvent]
    /// Oldest first.
    public let eventsAfter: [MXEvent]
    /// The room's state at the last of these events.
    public let state: [MXEvent]
    /// Where a page before begins.
    public let start: String?
    /// Where a page after begins.
    public let end: String?
}

/// A page of related events.
public struct MXRelationsResponse: Sendable {
    /// Newest first, unless asked for otherwise.
    public let chunk: [MXEvent]
    /// Where the next page begins; nil on the last.
    public let nextBatch: String?
}
