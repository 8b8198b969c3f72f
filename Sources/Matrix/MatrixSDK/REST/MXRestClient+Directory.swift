import MatrixProtocol

extension MXRestClient {
    /// Returns a page of the public room directory.
    ///
    /// - Parameters:
    ///   - onServer: Another server; `nil` for the user's own.
    ///   - since: ``MXPublicRoomsResponse/nextBatch`` of the previous page.
    ///   - filter: Words to search for.
    ///   - thirdPartyInstanceId: The id of a bridged network.
    public func publicRooms(
        onServer server: String?, limit: UInt? = nil, since: String? = nil, filter: String? = nil,
        thirdPartyInstanceId: String? = nil, includeAllNetworks: Bool = false
    ) async throws -> MXPublicRoomsResponse {
        guard filter != nil || thirdPartyInstanceId != nil || includeAllNetworks else {
            return try await value(
                APICall(
                    .get, "v3/publicRooms",
                    query: [("server", server), ("limit", limit.map { String($0) }), ("since", since)],
                    authorization: .optional))
        }
        var call = APICall(
            .post, "v3/publicRooms", query: [("server", server)],
            json: [
                "limit": limit.map { Int(clamping: $0) }, "since": since,
                "filter": filter.map { ["generic_search_term": $0] },
                "third_party_instance_id": thirdPartyInstanceId,
                "include_all_networks": includeAllNetworks ? true : nil,
            ])
        call.isRepeatable = true  // only reads
        return try await value(call)
    }

    /// Returns the first 100 public rooms of the user's own server. For more, use
    /// ``publicRooms(onServer:limit:since:filter:thirdPartyInstanceId:includeAllNetworks:)``.
    public func publicRooms() async throws -> [MXPublicRoom] {
        try await publicRooms(onServer: nil, limit: 100).chunk
    }

    // MARK: Aliases

    /// Returns the room that an alias refers to.
    public func resolveRoomAlias(_ alias: String) async throws -> MXRoomAliasResolution {
        try await value(APICall(.get, "v3/directory/room/\(alias)", authorization: .optional))
    }

    /// Adds an alias to a room.
    public func addRoomAlias(_ alias: String, toRoom roomId: String) async throws {
        try await perform(APICall(.put, "v3/directory/room/\(alias)", json: ["room_id": roomId]))
    }

    /// Removes an alias.
    public func removeRoomAlias(_ alias: String) async throws {
        try await perform(APICall(.delete, "v3/directory/room/\(alias)"))
    }

    /// Returns the aliases of a room on the user's own server.
    public func aliases(ofRoom roomId: String) async throws -> [String] {
        try await list("aliases", of: APICall(.get, "v3/rooms/\(roomId)/aliases")).compactMap(\.string)
    }

    /// Returns whether a room is listed in the directory.
    public func directoryVisibility(ofRoom roomId: String) async throws -> MXRoomDirectoryVisibility {
        let call = APICall(.get, "v3/directory/list/room/\(roomId)", authorization: .optional)
        guard let visibility = MXRoomDirectoryVisibility(rawValue: try await text("visibility", of: call)) else {
            throw Self.unexpected(call)
        }
        return visibility
    }

    /// Adds a room to the directory, or removes it.
    public func setDirectoryVisibility(_ visibility: MXRoomDirectoryVisibility, ofRoom roomId: String) async throws {
        try await perform(
            APICall(.put, "v3/directory/list/room/\(roomId)", json: ["visibility": visibility.rawValue]))
    }
}

/// Whether a room is listed in the directory. Independent of who may join.
public enum MXRoomDirectoryVisibility: String, Sendable, Hashable, Codable {
    case `public`
    case `private`
}

/// The room that an alias refers to.
public struct MXRoomAliasResolution: Sendable, Hashable, Codable {
    /// The room's id.
    public let roomId: String
    /// Servers through which to join the room.
    public let servers: [String]?

    enum CodingKeys: String, CodingKey {
        case roomId = "room_id"
        case servers
    }
}

/// A page of the room directory.
public struct MXPublicRoomsResponse: Sendable, Hashable, Codable {
    /// The rooms, largest first.
    public let chunk: [MXPublicRoom]
    /// The token of the next page; `nil` on the last.
    public let nextBatch: String?
    /// The token of the previous page; `nil` on the first.
    public let previousBatch: String?
    /// The approximate number of rooms.
    public let totalRoomCountEstimate: Int?

    enum CodingKeys: String, CodingKey {
        case chunk
        case nextBatch = "next_batch"
        case previousBatch = "prev_batch"
        case totalRoomCountEstimate = "total_room_count_estimate"
    }
}

/// A room in the directory.
public struct MXPublicRoom: Sendable, Hashable, Codable {
    /// The room's id.
    public let roomId: String
    /// The room's name, if any.
    public let name: String?
    /// The room's topic, if any.
    public let topic: String?
    /// The room's main alias.
    public let canonicalAlias: String?
    /// The number of joined members.
    public let joinedMembersCount: Int
    /// Whether anyone can read the room without joining.
    public let isWorldReadable: Bool
    /// Whether guests may join.
    public let guestCanJoin: Bool
    /// The room's avatar, an `mxc:` URL.
    public let avatarUrl: String?
    /// The join rule, such as `public` or `knock`.
    public let joinRule: String?
    /// The room type, such as `m.space`; `nil` for ordinary rooms.
    public let roomType: String?

    enum CodingKeys: String, CodingKey {
        case roomId = "room_id"
        case name, topic
        case canonicalAlias = "canonical_alias"
        case joinedMembersCount = "num_joined_members"
        case isWorldReadable = "world_readable"
        case guestCanJoin = "guest_can_join"
        case avatarUrl = "avatar_url"
        case joinRule = "join_rule"
        case roomType = "room_type"
    }
}
