import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// Returns all of a room's state.
    public func state(ofRoom roomId: String) async throws -> [MXEvent] {
        try await json(APICall(.get, "v3/rooms/\(roomId)/state")).events(inRoom: roomId)
    }

    /// Returns the content of a state event.
    public func stateEvent(ofRoom roomId: String, eventType: MXEventType, stateKey: String = "") async throws
        -> JSONView
    {
        try await json(APICall(.get, "v3/rooms/\(roomId)/state/\(eventType.identifier)/\(orEmpty: stateKey)"))
    }

    /// Sends a state event.
    ///
    /// - Returns: The event's id.
    @discardableResult
    public func sendStateEvent(
        toRoom roomId: String, eventType: MXEventType, content: [String: Any], stateKey: String = ""
    ) async throws -> String {
        try await sendStateEvent(
            toRoom: roomId, eventType: eventType, content: EncodedJSON(content), stateKey: stateKey)
    }

    @discardableResult
    package func sendStateEvent(toRoom roomId: String, eventType: MXEventType, content: EncodedJSON, stateKey: String)
        async throws -> String
    {
        try await text(
            "event_id",
            of: APICall(
                .put, "v3/rooms/\(roomId)/state/\(eventType.identifier)/\(orEmpty: stateKey)", body: content))
    }

    /// Sets a room's name.
    public func setRoomName(_ name: String, ofRoom roomId: String) async throws {
        try await sendStateEvent(
            toRoom: roomId, eventType: .roomName, content: EncodedJSON(["name": name]), stateKey: "")
    }

    /// Sets a room's topic.
    public func setRoomTopic(_ topic: String, ofRoom roomId: String) async throws {
        try await sendStateEvent(
            toRoom: roomId, eventType: .roomTopic, content: EncodedJSON(["topic": topic]), stateKey: "")
    }

    /// Sets a room's avatar, an `mxc:` URL.
    public func setRoomAvatar(_ url: String, ofRoom roomId: String) async throws {
        try await sendStateEvent(
            toRoom: roomId, eventType: .roomAvatar, content: EncodedJSON(["url": url]), stateKey: "")
    }

    /// Returns who may do what in a room.
    ///
    /// Since room version 12, creators rank above every number. Servers older than version 1.16 of the specification do
    /// not report who the creators are.
    public func powerLevels(ofRoom roomId: String) async throws -> MXRoomPowerLevels {
        let create = try await json(
            APICall(.get, "v3/rooms/\(roomId)/state/m.room.create/", query: [("format", "event")]))
        let levels = try await optional(APICall(.get, "v3/rooms/\(roomId)/state/m.room.power_levels/"))
        // Older servers return only the content, whatever the format.
        let event = MXEvent(json: create, roomId: roomId).flatMap { $0.type == "m.room.create" ? $0 : nil }
        let events = [
            event ?? Self.stateEvent("m.room.create", create, inRoom: roomId),
            levels.flatMap { Self.stateEvent("m.room.power_levels", $0, inRoom: roomId) },
        ]
        return MXRoomState(roomId: roomId, events: events.compactMap(\.self)).powerLevels
    }

    private static func stateEvent(_ type: String, _ content: JSONView, inRoom roomId: String) -> MXEvent? {
        var event = JSONWriter()
        event.add("type", type)
        event.add("state_key", "")
        event.add("content", content)
        return MXEvent(json: event.view, roomId: roomId)
    }

    /// Returns members of a room, as events.
    ///
    /// - Parameters:
    ///   - at: A sync token; returns the members at that moment.
    ///   - membership: Only return these.
    ///   - notMembership: Return all but these.
    public func members(
        ofRoom roomId: String, at token: String? = nil, membership: MXMembership? = nil,
        notMembership: MXMembership? = nil
    ) async throws -> [MXEvent] {
        let call = APICall(
            .get, "v3/rooms/\(roomId)/members",
            query: [
                ("at", token), ("membership", membership?.rawValue), ("not_membership", notMembership?.rawValue),
            ])
        return try await list("chunk", of: call).compactMap { MXEvent(json: $0, roomId: roomId) }
    }

    /// Returns the joined members of a room, by user id.
    public func joinedMembers(ofRoom roomId: String) async throws -> [String: MXProfile] {
        let call = APICall(.get, "v3/rooms/\(roomId)/joined_members")
        guard let joined = try await json(call)["joined"], joined.isObject else { throw Self.unexpected(call) }
        return Dictionary(joined.members.map { ($0.key, MXProfile(member: $0.value)) }) { $1 }
    }

    /// Returns the rooms the user has joined.
    public func joinedRooms() async throws -> [String] {
        try await list("joined_rooms", of: APICall(.get, "v3/joined_rooms")).compactMap(\.string)
    }
}
