import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// Searches the messages that the server can read.
    ///
    /// - Parameters:
    ///   - rooms: The rooms to search; `nil` for all that the user is in.
    ///   - before: Events to return before each result.
    ///   - after: Events to return after each result.
    ///   - byRank: Whether the best results come first instead of the newest.
    ///   - nextBatch: ``MXSearchResults/nextBatch`` of the previous page.
    public func searchMessages(
        _ pattern: String, inRooms rooms: [String]? = nil, limit: Int? = nil, before: Int = 0, after: Int = 0,
        byRank: Bool = false, nextBatch: String? = nil
    ) async throws -> MXSearchResults {
        var filter: [String: any Sendable] = [:]
        filter["rooms"] = rooms
        filter["limit"] = limit
        let criteria: [String: any Sendable] = [
            "search_term": pattern, "keys": ["content.body"], "filter": filter,
            "order_by": byRank ? "rank" : "recent",
            "event_context": ["before_limit": before, "after_limit": after, "include_profile": true]
                as [String: any Sendable],
        ]
        var call = APICall(
            .post, "v3/search", query: [("next_batch", nextBatch)],
            json: ["search_categories": ["room_events": criteria]])
        call.isRepeatable = true  // only reads
        guard let found = try await json(call)["search_categories"]?["room_events"] else { throw Self.unexpected(call) }
        return MXSearchResults(
            count: found["count"]?.int ?? 0, highlights: found["highlights"]?.array?.compactMap(\.string) ?? [],
            results: found["results"]?.array?.compactMap { MXSearchResults.Result($0) } ?? [],
            nextBatch: found["next_batch"]?.string)
    }

    /// Searches the users known to the server by name or id.
    public func searchUsers(_ pattern: String, limit: Int? = nil) async throws -> MXUserSearchResponse {
        var call = APICall(.post, "v3/user_directory/search", json: ["search_term": pattern, "limit": limit])
        call.isRepeatable = true  // only reads
        return try await value(call)
    }
}

/// A page of search results.
public struct MXSearchResults: Sendable {
    /// A found message.
    public struct Result: Sendable {
        /// The rank; higher is better.
        public let rank: Double?
        /// The message.
        public let event: MXEvent
        /// The events before it, newest first.
        public let eventsBefore: [MXEvent]
        /// The events after it, oldest first.
        public let eventsAfter: [MXEvent]
        /// The senders' profiles at the time they sent these events, by user id.
        public let profiles: [String: MXProfile]

        package init(stored event: MXEvent) {
            (self.event, rank, eventsBefore, eventsAfter, profiles) = (event, nil, [], [], [:])
        }

        init?(_ json: JSONView) {
            guard let event = json["result"].flatMap({ MXEvent(json: $0) }) else { return nil }
            self.event = event
            rank = json["rank"]?.double
            eventsBefore = json["context"]?["events_before"]?.events(inRoom: event.roomId) ?? []
            eventsAfter = json["context"]?["events_after"]?.events(inRoom: event.roomId) ?? []
            var profiles: [String: MXProfile] = [:]
            for (userId, profile) in json["context"]?["profile_info"]?.members ?? [] {
                profiles[userId] = MXProfile(
                    displayName: profile["displayname"]?.string, avatarUrl: profile["avatar_url"]?.string)
            }
            self.profiles = profiles
        }
    }

    /// The approximate number of all results.
    public let count: Int
    /// Words to highlight in the results.
    public let highlights: [String]
    /// The results in the requested order.
    public let results: [Result]
    /// The token to request the next page; `nil` on the last.
    public let nextBatch: String?
}

/// The result of a search for users.
public struct MXUserSearchResponse: Sendable, Hashable, Codable {
    /// A found user.
    public struct User: Sendable, Hashable, Codable {
        /// The user's id.
        public let userId: String
        /// The display name, if any.
        public let displayName: String?
        /// The avatar, an `mxc:` URL.
        public let avatarUrl: String?

        enum CodingKeys: String, CodingKey {
            case userId = "user_id"
            case displayName = "display_name"
            case avatarUrl = "avatar_url"
        }
    }

    /// The users, best first.
    public let results: [User]
    /// Whether there are more users.
    public let limited: Bool

    enum CodingKeys: String, CodingKey {
        case results, limited
    }
}
