import MatrixProtocol

extension MXRestClient {
    /// Rooms that everybody may find: one page of them.
    ///
    /// - Parameters:
    ///   - onServer: Another server's; nil is our own.
    ///   - since: ``MXPublicRoomsResponse/nextBatch`` of the page before.
    ///   - filter: Words to look for.
    ///   - thirdPartyInstanceId: Of a bridged network.
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

    /// Rooms of our own server that everybody may find: the first 100. ``publicRooms(onServer:limit:since:filter:thirdPartyInstanceId:includeAllNetworks:)`` goes on.
    public func publicRooms() async throws -> [MXPublicRoom] {
        try await publicRooms(onServer: nil, limit: 100).chunk
    }

    // MARK: Aliases

    /// The room of an alias.
    public func resolveRoomAlias(_ alias: String) async throws -> MXRoomAliasResolution {
        try await value(APICall(.get, "v3/directory/room/\(alias)", authorization: .optional))
    }

    /// Gives a room an alias.
    public func addRoomAlias(_ alias: String, toRoom roomId: String) async throws {
        try await perform(APICall(.put, "v3/directory/room/\(alias)", json: ["room_id": roomId]))
    }

    /// Takes an alias away.
    public func removeRoomAlias(_ alias: String) async throws {
        try await perform(APICall(.delete, "v3/directory/room/\(alias)"))
    }

    /// The aliases that our server has for a room.
    public func aliases(ofRoom roomId: String) async throws -> [String] {
        try await list("aliases", of: APICall(.get, "v3/rooms/\(roomId)/aliases")).compactMap(\.string)
    }

    /// Whether a room is in the directory.
    public func directoryVisibility(ofRoom roomId: String) async throws -> MXRoomDirectoryVisibility {
        let call = APICall(.get, "v3/directory/list/room/\(roomId)", authorization: .optional)
        guard let visibility = MXRoomDirectoryVisibility(rawValue: try await text("visibility", of: call)) else {
            throw Self.unexpected(call)
        }
        return visibility
    }

    /// Puts a room into the directory, or takes it out.
    public func setDirectoryVisibility(_ visibility: MXRoomDirectoryVisibility, ofRoom roomId: String) async throws {
        try await perform(
            APICall(.put, "v3/directory/list/room/\(roomId)", json: ["visibility": visibility.rawValue]))
    }
}

/// Whether a room is in the directory; says nothing about who may join.
public enum MXRoomDirectoryVisibility: String, Sendable, Hashable, Codable {
    case `public`
    case `private`
}

/// The room of an alias.
public struct MXRoomAliasResolution: Sendable, Hashable, Codable {
    /// The room.
    public let roomId: String
    /// Servers through which it can be joined.
    public let servers: [String]?

    enum CodingKeys: String, CodingKey {
        case roomId = "room_id"
        case servers
    }
}

/// A page of the directory.
public struct MXPublicRoomsResponse: Sendable, Hashable, Codable {
    /// The rooms, largest first.
    public let chunk: [MXPublicRoom]
    /// Where the next page begins; nil on the last.
    public let nextBatch: String?
    /// Where the page before begins; nil on the first.
    public let previousBatch: String?
    /// How many rooms there are, about.
    public let totalRoomCountEstimate: Int?

    enum CodingKeys: String, CodingKey {
        case chunk
        case nextBatch = "next_batch"
        case previousBatch = "prev_batch"
        case totalRoomCountEstimate = "total_room_count_estimate"
    }
}

/// A room of the directory.
public struct MXPublicRoom: Sendable, Hashable, Codable {
    /// The room.
    public let roomId: String
    /// Nil: it has none.
    public let name: String?
    /// Nil: it has none.
    public let topic: String?
    /// Its main alias.
    public let canonicalAlias: String?
    /// How many are in it.
    public let joinedMembersCount: Int
    /// Whether it can be read without joining.
    public let isWorldReadable: Bool
    /// Whether guests may join.
    public let guestCanJoin: Bool
    /// An `mxc:` URL.
    public let avatarUrl: String?
    /// Such as `public` or `knock`.
    public let joinRule: String?
    /// Such as `m.space`; nil for rooms to talk in.
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
