import ArgumentParser
import CommandKit
import MatrixSDK

/// A room as named by the user: by id, by alias, by the name that `rooms` shows, or by a part of the name or alias.
struct RoomReference {
    let text: String

    init(_ text: String) { self.text = text }

    /// Whether this is an id.
    var isID: Bool { text.hasPrefix("!") }

    /// Whether this is a complete alias, which the homeserver's directory can resolve.
    var isAlias: Bool { text.hasPrefix("#") && text.contains(":") }

    /// - Parameter membership: The membership of the rooms in which to look up names.
    func roomID(for account: MatrixAccount, membership: MXMembership = .join) async throws -> String {
        if isID { return text }
        if isAlias { return try await roomID(for: account.client) }
        return try Self.named(text, among: try await account.rooms().filter { $0.membership == membership }).roomId
    }

    /// Returns the room of an alias according to the store.
    func stored(for account: MatrixAccount) -> AliasClaim? {
        guard isAlias, let claims = try? account.store.rooms(withAlias: text) else { return nil }
        return claims.count == 1 ? claims.first : nil
    }

    /// Returns the room in a synced session. The user must have joined it.
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

    /// Returns the room of an alias.
    func roomID(for client: MXRestClient) async throws -> String { try await client.resolveRoomAlias(text).roomId }

    // MARK: Completion

    /// Completes the rooms of the login as of the last sync, by alias or id, without contacting the homeserver.
    ///
    /// Shells evaluate completions, and room names are chosen by others: names with special characters are left out.
    static let completion = CompletionKind.custom { _, _, _ in
        guard let login = try? MatrixCredentialFile().loadIfPresent(), let user = login.userId,
            let rooms = try? MatrixStore(userID: user, deviceID: login.deviceId).rooms()
        else { return [] }
        return rooms.compactMap { room in [room.canonicalAlias, room.roomId].compactMap { $0 }.first { isPlain($0) } }
    }

    private static func isPlain(_ name: String) -> Bool {
        name.wholeMatch(of: /[#!][A-Za-z0-9._=\/+-]+(?::[A-Za-z0-9.:-]+)?/) != nil
    }

    // MARK: Names

    /// Returns the only room with this name, preferring the same case, or else the only one whose name or alias
    /// contains it.
    static func named(_ name: String, among rooms: [MXRoomSummary]) throws(CommandFailure) -> MXRoomSummary {
        let lowercased = name.lowercased()
        let steps: [(MXRoomSummary) -> Bool] = [
            { $0.displayName == name }, { $0.displayName.lowercased() == lowercased },
            { room in
                [room.displayName, room.canonicalAlias].contains { $0?.lowercased().contains(lowercased) == true }
            },
        ]
        for (number, fits) in steps.enumerated() {
            let found = rooms.filter(fits)
            if found.count > 1 { throw ambiguity(name, found, isWhole: number < steps.count - 1) }
            if let room = found.first { return room }
        }
        throw CommandFailure(.badData, "there is no room “\(name)”: pusher-cli matrix rooms lists them")
    }

    private static let maximumListed = 10
    /// The maximum length of a name, because members can make it as long as they like.
    private static let maximumNameLength = 60

    private static func ambiguity(_ name: String, _ rooms: [MXRoomSummary], isWhole: Bool) -> CommandFailure {
        var listed = rooms.sorted { $0.roomId < $1.roomId }.prefix(maximumListed).map { room in
            let name = room.displayName
            return "\(room.roomId) (\(name.prefix(maximumNameLength))\(name.count > maximumNameLength ? "…" : ""))"
        }
        if rooms.count > listed.count { listed.append("and \(rooms.count - listed.count) more") }
        let what = isWhole ? "\(rooms.count) rooms are called “\(name)”" : "\(rooms.count) rooms match “\(name)”"
        return CommandFailure(.badData, "\(what); give an id: \(listed.joined(separator: ", "))")
    }
}
