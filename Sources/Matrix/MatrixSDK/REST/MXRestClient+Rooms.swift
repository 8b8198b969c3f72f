public import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// Creates a room.
    ///
    /// - Returns: Its id.
    public func createRoom(parameters: MXRoomCreationParameters) async throws -> String {
        try await createRoom(body: parameters.encoded)
    }

    package func createRoom(body: EncodedJSON) async throws -> String {
        try await text("room_id", of: APICall(.post, "v3/createRoom", body: body))
    }

    /// Joins a room by id or alias.
    ///
    /// - Parameter viaServers: Servers that are in the room; for ids, which name none.
    /// - Returns: Its id.
    @discardableResult
    public func joinRoom(_ roomIdOrAlias: String, viaServers: [String]? = nil, reason: String? = nil) async throws
        -> String
    {
        try await text(
            "room_id",
            of: APICall(
                .post, "v3/join/\(roomIdOrAlias)", query: Self.servers(viaServers), json: ["reason": reason]))
    }

    /// Asks to be let in.
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

    /// Under the parameter's name and its older one.
    private static func servers(_ names: [String]?) -> [(name: String, value: String?)] {
        (names ?? []).flatMap { [("via", $0), ("server_name", $0)] }
    }

    /// Leaves a room, or rejects an invitation.
    public func leaveRoom(_ roomId: String, reason: String? = nil) async throws {
        try await perform(APICall(.post, "v3/rooms/\(roomId)/leave", json: ["reason": reason]))
    }

    /// Forgets a room that was left: its history is not there any more.
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

    /// Removes a user from a room, and keeps them out.
    public func banUser(_ userId: String, fromRoom roomId: String, reason: String? = nil) async throws {
        try await perform(APICall(.post, "v3/rooms/\(roomId)/ban", json: ["user_id": userId, "reason": reason]))
    }

    /// Lets a user in again.
    public func unbanUser(_ userId: String, fromRoom roomId: String, reason: String? = nil) async throws {
        try await perform(APICall(.post, "v3/rooms/\(roomId)/unban", json: ["user_id": userId, "reason": reason]))
    }

    // MARK: Whole rooms

    /// Replaces a room by one of another version.
    ///
    /// - Returns: The id of the new one.
    public func upgradeRoom(_ roomId: String, toVersion version: String) async throws -> String {
        try await text(
            "replacement_room", of: APICall(.post, "v3/rooms/\(roomId)/upgrade", json: ["new_version": version]))
    }

    /// Reports an event to the administrators of the server.
    ///
    /// - Parameter score: From −100, most offensive, to 0.
    public func reportEvent(_ eventId: String, inRoom roomId: String, reason: String?, score: Int? = nil) async throws {
        try await perform(
            APICall(.post, "v3/rooms/\(roomId)/report/\(eventId)", json: ["reason": reason, "score": score]))
    }

    /// The rooms of a space, page by page.
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

    /// The event next to a moment.
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
    /// The events of an array; what is none is left out.
    func events(inRoom roomId: String?) -> [MXEvent] {
        array?.compactMap { MXEvent(json: $0, roomId: roomId) } ?? []
    }
}

/// A page of a space's rooms.
public struct MXSpaceHierarchy: Sendable {
    /// As the server gives them: `room_id`, `name`, `children_state` and so on.
    public let rooms: [JSONView]
    /// Where the next page begins; nil on the last.
    public let nextBatch: String?
}

/// The event next to a moment.
public struct MXEventAtTime: Sendable, Hashable, Codable {
    /// The event.
    public let eventId: String
    /// When it was sent, in milliseconds since 1970.
    public let originServerTs: UInt64

    enum CodingKeys: String, CodingKey {
        case eventId = "event_id"
        case originServerTs = "origin_server_ts"
    }
}
