import MatrixSDK

/// A room as users name it: by id, by alias, or by the name that `rooms` shows.
struct RoomReference {
    let text: String

    init(_ text: String) { self.text = text }

    /// Whether it is an id already.
    var isID: Bool { text.hasPrefix("!") }

    /// Whether a homeserver has to be asked.
    var isAlias: Bool { text.hasPrefix("#") }

    /// - Parameter membership: Of which rooms the names are looked up.
    func roomID(for account: MatrixAccount, membership: MXMembership = .join) async throws -> String {
        if isID { return text }
        if isAlias { return try await roomID(for: account.client) }
        return try Self.named(text, among: try await account.rooms().filter { $0.membership == membership }).roomId
    }

    /// The same in a session that has synced. You have to be in the room.
    func room(in session: MXSession, for account: MatrixAccount) async throws -> MXRoom {
        let id: String
        if isID || isAlias {
            id = try await roomID(for: account)
        } else {
            id = try Self.named(text, among: session.roomsSummaries.filter { $0.membership == .join }).roomId
        }
        guard let room = session.rooms.first(where: { $0.roomId == id }) else {
            throw CommandFailure(.badData, "you are not in \(text): pusher-cli matrix rooms lists your rooms")
        }
        return room
    }

    /// The room that an alias stands for.
    func roomID(for client: MXRestClient) async throws -> String { try await client.resolveRoomAlias(text).roomId }

    /// The one room of this name, in the same case if there is one.
    static func named(_ name: String, among rooms: [MXRoomSummary]) throws(CommandFailure) -> MXRoomSummary {
        let exact = rooms.filter { $0.displayName == name }
        let found =
            exact.isEmpty ? rooms.filter { $0.displayName.lowercased() == name.lowercased() } : exact
        guard let first = found.first else {
            throw CommandFailure(.badData, "there is no room “\(name)”: pusher-cli matrix rooms lists them")
        }
        guard found.count == 1 else {
            let ids = found.map(\.roomId).sorted().prefix(5).joined(separator: " ")
            throw CommandFailure(.badData, "\(found.count) rooms are called “\(name)”; give an id: \(ids)")
        }
        return first
    }
}
