/// Computes a room's name (client-server specification, "Calculating the display name for a room").
package enum RoomName {
    /// - Parameters:
    ///   - summary: The server's information on the members. Where it is missing, the state's members are used.
    ///   - userId: The current user, who is never part of the name.
    package static func displayName(
        of state: MXRoomState, heroes: [String]?, joinedCount: Int?, invitedCount: Int?, currentUser userId: String
    ) -> String {
        if let name = MXRoomMembers.shownName(state.name) ?? MXRoomMembers.shownName(state.canonicalAlias) {
            return name
        }
        let count = memberCount(state, joinedCount, invitedCount)
        let others = others(heroes, in: state, currentUser: userId, isEmpty: count <= 1)
        let names = others.first.map { state.members.memberName($0) }
        guard let first = names.first else { return count <= 1 ? "Empty room" : "\(count) people" }
        let two = names.count == 2 ? "\(first) and \(names[1])" : first
        if count <= 1 { return "Empty room (was \(others.count > 2 ? many(first, others.count - 1) : two))" }
        let isAll = others.count >= count - 1
        return isAll && others.count <= 2 ? two : many(first, max(count - 2, 1))
    }

    /// Returns the `mxc:` URL of the room's avatar or, in a room of two, of the other member's.
    package static func avatar(
        of state: MXRoomState, heroes: [String]?, joinedCount: Int?, invitedCount: Int?, currentUser userId: String
    ) -> String? {
        if let avatar = state.avatar { return avatar }
        guard memberCount(state, joinedCount, invitedCount) == 2 else { return nil }
        let others = others(heroes, in: state, currentUser: userId, isEmpty: false)
        guard others.count == 1, let other = others.first.first else { return nil }
        return state.members.member(withUserId: other)?.avatarUrl
    }

    private static func many(_ name: String, _ others: Int) -> String {
        others == 1 ? "\(name) and 1 other" : "\(name) and \(others) others"
    }

    private static func memberCount(_ state: MXRoomState, _ joined: Int?, _ invited: Int?) -> Int {
        (joined ?? state.membersCount(with: .join)) + (invited ?? state.membersCount(with: .invite))
    }

    /// Returns up to two users and their total number: the server's heroes, or else the earliest members.
    ///
    /// - Parameter isEmpty: Whether nobody else is in the room. Former members are used then.
    private static func others(
        _ heroes: [String]?, in state: MXRoomState, currentUser userId: String, isEmpty: Bool
    ) -> (first: [String], count: Int) {
        let heroes = (heroes ?? []).filter { $0 != userId }
        if !heroes.isEmpty { return (Array(heroes.prefix(2)), heroes.count) }
        let kinds: [MXMembership] = isEmpty ? [.leave, .ban] : [.join, .invite]
        let isOneOfThem = state.members.member(withUserId: userId).map { kinds.contains($0.membership) } ?? false
        let count = kinds.reduce(0) { $0 + state.members.count(of: $1) } - (isOneOfThem ? 1 : 0)
        return (state.members.oldest(2, of: kinds, but: userId), count)
    }
}
