import ArgumentParser
import CommandKit
import MatrixSDK

/// A room as users name it: by id, by alias, by the name that `rooms` shows, or by a part of the name or the alias.
struct RoomReference {
    let text: String

    init(_ text: String) { self.text = text }

    /// Whether it is an id already.
    var isID: Bool { text.hasPrefix("!") }

    /// Whether it is a whole alias, which the homeserver's directory knows.
    var isAlias: Bool { text.hasPrefix("#") && text.contains(":") }

    /// - Parameter membership: Of which rooms the names are looked up.
    func roomID(for account: MatrixAccount, membership: MXMembership = .join) async throws -> String {
        if isID { return text }
        if isAlias { return try await roomID(for: account.client) }
        return try Self.named(text, among: try await account.rooms().filter { $0.membership == membership }).roomId
    }

    /// The room that an alias seems to stand for, by what is stored.
    func stored(for account: MatrixAccount) -> AliasClaim? {
        guard isAlias, let claims = try? account.store.rooms(withAlias: text) else { return nil }
        return claims.count == 1 ? claims.first : nil
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

    // MARK: Completion

    /// Offers the rooms of the login as of the last sync, by alias or id, without asking the homeserver.
    ///
    /// Shells evaluate what is offered, and others choose names: nothing with a character that means something to them.
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

    /// The one room of this name, in the same case if there is one; else the one of whose name or alias it is a part.
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
    /// Characters of a name, which may be as long as its room's members like.
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
