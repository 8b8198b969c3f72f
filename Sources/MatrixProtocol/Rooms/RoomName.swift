/// What to call a room (client-server specification, "Calculating the display name for a room").
package enum RoomName {
    /// - Parameters:
    ///   - summary: What the server says of the members; where it says nothing, the state's members count.
    ///   - userId: The current user, after whom a room is never called.
    package static func displayName(
        of state: MXRoomState, heroes: [String]?, joinedCount: Int?, invitedCount: Int?, currentUser userId: String
    ) -> String {
        if let name = MXRoomMembers.shownName(state.name) ?? MXRoomMembers.shownName(state.canonicalAlias) {
            return name
        }
        let count = memberCount(state, joinedCount, invitedCount)
        let heroes = others(heroes, in: state, currentUser: userId, isEmpty: count <= 1)
        let names = heroes.prefix(2).map { state.members.memberName($0) }
        guard let first = names.first else { return count <= 1 ? "Empty room" : "\(count) people" }
        let two = names.count == 2 ? "\(first) and \(names[1])" : first
        if count <= 1 { return "Empty room (was \(heroes.count > 2 ? many(first, heroes.count - 1) : two))" }
        let isAll = heroes.count >= count - 1
        return isAll && heroes.count <= 2 ? two : many(first, max(count - 2, 1))
    }

    /// The room's own avatar, else in a room of two the other's. An `mxc:` URL.
    package static func avatar(
        of state: MXRoomState, heroes: [String]?, joinedCount: Int?, invitedCount: Int?, currentUser userId: String
    ) -> String? {
        if let avatar = state.avatar { return avatar }
        guard memberCount(state, joinedCount, invitedCount) == 2 else { return nil }
        let others = others(heroes, in: state, currentUser: userId, isEmpty: false)
        guard others.count == 1 else { return nil }
        return state.members.member(withUserId: others[0])?.avatarUrl
    }

    private static func many(_ name: String, _ others: Int) -> String {
        others == 1 ? "\(name) and 1 other" : "\(name) and \(others) others"
    }

    private static func memberCount(_ state: MXRoomState, _ joined: Int?, _ invited: Int?) -> Int {
        (joined ?? state.membersCount(with: .join)) + (invited ?? state.membersCount(with: .invite))
    }

    /// The server's heroes, else those who came first.
    ///
    /// - Parameter isEmpty: Nobody else is there: then those who were.
    private static func others(
        _ heroes: [String]?, in state: MXRoomState, currentUser userId: String, isEmpty: Bool
    ) -> [String] {
        let heroes = (heroes ?? []).filter { $0 != userId }
        if !heroes.isEmpty { return heroes }
        let kinds: [MXMembership] = isEmpty ? [.leave, .ban] : [.join, .invite]
        let ages = kinds.flatMap { state.members.members(with: $0) }.filter { $0.userId != userId }
            .map { ($0.originalEvent.originServerTs, $0.userId) }
        return ages.sorted { $0 < $1 }.map(\.1)
    }
}
