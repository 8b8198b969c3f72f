public import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// Creates a room.
    ///
    /// - Returns: The room's id.
    public func createRoom(parameters: MXRoomCreationParameters) async throws -> String {
        try await createRoom(body: parameters.encoded)
    }

    package func createRoom(body: EncodedJSON) async throws -> String {
        try await text("room_id", of: APICall(.post, "v3/createRoom", body: body))
    }

    /// Joins a room by id or alias.
    ///
    /// - Parameter viaServers: Servers that are in the room; needed for ids, which don't name a server.
    /// - Returns: The room's id.
    @discardableResult
    public func joinRoom(_ roomIdOrAlias: String, viaServers: [String]? = nil, reason: String? = nil) async throws
        -> String
    {
        try await text(
            "room_id",
            of: APICall(
                .post, "v3/join/\(roomIdOrAlias)", query: Self.servers(viaServers), json: ["reason": reason]))
    }

    /// Asks to be admitted to a room.
    ///
    /// - Returns: The room's id.
    @discardableResult
    public func knockRoom(_ roomIdOrAlias: String, viaServers: [String]? = nil, reason: String? = nil) async throws
        -> String
    {
        try await text(
            "room_id",
            of: APICall(
                .post, "v3/knock/\(roomIdOrAlias)", query: Self.servers(viaServers), json: ["reason": reason]))
    }

    /// Returns the servers under the parameter's current and older name.
    private static func servers(_ names: [String]?) -> [(name: String, value: String?)] {
        (names ?? []).flatMap { [("via", $0), ("server_name", $0)] }
    }

    /// Leaves a room, or rejects an invitation.
    public func leaveRoom(_ roomId: String, reason: String? = nil) async throws {
        try await perform(APICall(.post, "v3/rooms/\(roomId)/leave", json: ["reason": reason]))
    }

    /// Forgets a room that the user has left. Its history is no longer available.
    public func forgetRoom(_ roomId: String) async throws {
        try await perform(APICall(.post, "v3/rooms/\(roomId)/forget", body: .empty))
    }

    /// Invites a user.
    public func inviteUser(_ userId: String, toRoom roomId: String, reason: String? = nil) async throws {
        try await perform(APICall(.post, "v3/rooms/\(roomId)/invite", json: ["user_id": userId, "reason": reason]))
    }

    /// Invites by email, through an identity server.
    public func inviteByEmail(
        _ address: String, toRoom roomId: String, identityServer: String, identityAccessToken: String
    ) async throws {
        try await perform(
            APICall(
                .post, "v3/rooms/\(roomId)/invite",
                json: [
                    "id_server": identityServer, "id_access_token": identityAccessToken, "medium": "email",
                    "address": address,
                ]))
    }

    /// Removes a user from a room.
    public func kickUser(_ userId: String, fromRoom roomId: String, reason: String? = nil) async throws {
        try await perform(APICall(.post, "v3/rooms/\(roomId)/kick", json: ["user_id": userId, "reason": reason]))
    }

    /// Removes a user from a room and keeps them out.
    public func banUser(_ userId: String, fromRoom roomId: String, reason: String? = nil) async throws {
        try await perform(APICall(.post, "v3/rooms/\(roomId)/ban", json: ["user_id": userId, "reason": reason]))
    }

    /// Allows a banned user to join again.
    public func unbanUser(_ userId: String, fromRoom roomId: String, reason: String? = nil) async throws {
        try await perform(APICall(.post, "v3/rooms/\(roomId)/unban", json: ["user_id": userId, "reason": reason]))
    }

    // MARK: Whole rooms

    /// Replaces a room with one of another version.
    ///
    /// - Returns: The id of the new room.
    public func upgradeRoom(_ roomId: String, toVersion version: String) async throws -> String {
        try await text(
            "replacement_room", of: APICall(.post, "v3/rooms/\(roomId)/upgrade", json: ["new_version": version]))
    }

    /// Reports an event to the server's administrators.
    ///
    /// - Parameter score: From −100 (most offensive) to 0.
    public func reportEvent(_ eventId: String, inRoom roomId: String, reason: String?, score: Int? = nil) async throws {
        try await perform(
            APICall(.post, "v3/rooms/\(roomId)/report/\(eventId)", json: ["reason": reason, "score": score]))
    }

    /// Returns a page of the rooms in a space.
    public func spaceHierarchy(
        ofRoom roomId: String, suggestedOnly: Bool = false, limit: Int? = nil, maxDepth: Int? = nil, from: String? = nil
    ) async throws -> MXSpaceHierarchy {
        let call = APICall(
            .get, "v1/rooms/\(roomId)/hierarchy",
            query: [
                ("suggested_only", suggestedOnly ? "true" : nil), ("limit", limit.map(String.init)),
                ("max_depth", maxDepth.map(String.init)), ("from", from),
            ])
        let answer = try await json(call)
        return MXSpaceHierarchy(rooms: answer["rooms"]?.array ?? [], nextBatch: answer["next_batch"]?.string)
    }

    /// Returns the event closest to a point in time.
    ///
    /// - Parameter timestamp: Milliseconds since 1970.
    public func eventId(inRoom roomId: String, at timestamp: UInt64, direction: MXTimelineDirection = .forwards)
        async throws -> MXEventAtTime
    {
        try await value(
            APICall(
                .get, "v1/rooms/\(roomId)/timestamp_to_event",
                query: [("ts", String(timestamp)), ("dir", direction.parameter)]))
    }
}

extension JSONView {
    /// Returns the events of an array, skipping elements that are not events.
    func events(inRoom roomId: String?) -> [MXEvent] {
        array?.compactMap { MXEvent(json: $0, roomId: roomId) } ?? []
    }
}

/// A page of the rooms in a space.
public struct MXSpaceHierarchy: Sendable {
    /// The rooms as sent by the server: `room_id`, `name`, `children_state` and so on.
    public let rooms: [JSONView]
    /// The token of the next page; `nil` on the last.
    public let nextBatch: String?
}

/// The event closest to a point in time.
public struct MXEventAtTime: Sendable, Hashable, Codable {
    /// The event's id.
    public let eventId: String
    /// The time the event was sent, in milliseconds since 1970.
    public let originServerTs: UInt64

    enum CodingKeys: String, CodingKey {
        case eventId = "event_id"
        case originServerTs = "origin_server_ts"
    }
}
