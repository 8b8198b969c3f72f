import Basics
import PusherProtocol

/// The subscribers of one occupied channel and, on a presence channel, its members.
struct ChannelState {
    static let maximumMemberCount = 100

    /// One user, possibly with several connections.
    struct Member: Hashable {
        let userID: String
        let userInfo: String?
        fileprivate(set) var connectionCount: Int
    }

    let name: ChannelName
    /// Each subscriber with its user id, which is `nil` unless this is a presence channel.
    private(set) var subscribers: [SocketID: String?] = [:]
    /// The members, in order of joining.
    private(set) var members: [Member] = []

    init(name: ChannelName) {
        self.name = name
    }

    var userIDs: [String] { members.map(\.userID) }

    func userID(of socketID: SocketID) -> String? { subscribers[socketID] ?? nil }

    private func position(of userID: String) -> Int? {
        let key = ByteKey(userID)
        return members.firstIndex { ByteKey($0.userID) == key }
    }

    /// Returns whether one more connection of `userID` would exceed the maximum number of members.
    func isFull(for userID: String) -> Bool {
        members.count >= Self.maximumMemberCount && position(of: userID) == nil
    }

    /// Adds a connection. Returns whether it is the user's first one on this channel.
    mutating func join(_ socketID: SocketID, as member: PresenceMember?) -> Bool {
        subscribers[socketID] = .some(member?.userID)
        guard let member else { return false }
        if let index = position(of: member.userID) {
            members[index].connectionCount += 1
            return false
        }
        members.append(Member(userID: member.userID, userInfo: member.userInfo, connectionCount: 1))
        return true
    }

    /// Removes a connection. Returns the user if this was their last one.
    mutating func leave(_ socketID: SocketID) -> String? {
        guard let userID = subscribers.removeValue(forKey: socketID) ?? nil,
            let index = position(of: userID)
        else { return nil }
        members[index].connectionCount -= 1
        guard members[index].connectionCount == 0 else { return nil }
        members.remove(at: index)
        return userID
    }
}
