import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// Searches messages that the server can read.
    ///
    /// - Parameters:
    ///   - rooms: Only in these; nil is all that the user is in.
    ///   - before: Events to give before each result.
    ///   - after: Events to give after each result.
    ///   - byRank: Best first; else newest first.
    ///   - nextBatch: ``MXSearchResults/nextBatch`` of the page before.
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

    /// Users whom the server knows, by name or id.
    public func searchUsers(_ pattern: String, limit: Int? = nil) async throws -> MXUserSearchResponse {
        var call = APICall(.post, "v3/user_directory/search", json: ["search_term": pattern, "limit": limit])
        call.isRepeatable = true  // only reads
        return try await value(call)
    }
}

/// A page of what a search found.
public struct MXSearchResults: Sendable {
    /// One message.
    public struct Result: Sendable {
        /// Higher is better.
        public let rank: Double?
        /// What was found.
        public let event: MXEvent
        /// Newest first.
        public let eventsBefore: [MXEvent]
        /// Oldest first.
        public let eventsAfter: [MXEvent]
        /// How the senders of these events showed when they sent them, by user id.
        public let profiles: [String: MXProfile]

        /// Of a search in what is stored.
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

    /// Of all pages, about.
    public let count: Int
    /// Words to mark in the results.
    public let highlights: [String]
    /// In the order asked for.
    public let results: [Result]
    /// Asks for the next page; nil on the last.
    public let nextBatch: String?
}

/// Users whom the server knows.
public struct MXUserSearchResponse: Sendable, Hashable, Codable {
    /// One of them.
    public struct User: Sendable, Hashable, Codable {
        /// The user.
        public let userId: String
        /// Nil: none was chosen.
        public let displayName: String?
        /// An `mxc:` URL.
        public let avatarUrl: String?

        enum CodingKeys: String, CodingKey {
            case userId = "user_id"
            case displayName = "display_name"
            case avatarUrl = "avatar_url"
        }
    }

    /// Best first.
    public let results: [User]
    /// Whether there are more.
    public let limited: Bool

    enum CodingKeys: String, CodingKey {
        case results, limited
    }
}
