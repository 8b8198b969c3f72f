import Foundation

/// Who is on a presence channel. User ids compare as strings, however the server sends them.
package struct PresenceMembers: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package let userID: String
        /// JSON text; nil if the server gave nothing or null.
        package let userInfo: String?

        package init(userID: String, userInfo: String? = nil) {
            self.userID = userID
            self.userInfo = userInfo
        }
    }

    package enum Addition: Hashable, Sendable {
        case new
        /// What was known of the member is updated.
        case known
        /// Left out: the members that are known already have as many bytes as is allowed.
        case tooMany
    }

    /// Bytes of all ids and infos, with 128 for each member for what keeps it. A server may add any number.
    package static let maximumBytes = 16 << 20
    private static let overhead = 128

    private var members: [String: (order: Int, member: Member)] = [:]
    private var lastOrder = 0
    private var byteCount = 0

    package init() {}

    package var count: Int { members.count }

    /// In order of arrival.
    package var all: [Member] {
        members.values.sorted { $0.order < $1.order }.map(\.member)
    }

    package subscript(userID: String) -> Member? { members[userID]?.member }

    /// Adds a member, or updates what is known of one.
    package mutating func add(_ member: Member) -> Addition {
        let known = members[member.userID]
        let byteCount = byteCount - (known.map { Self.cost(of: $0.member) } ?? 0) + Self.cost(of: member)
        guard byteCount <= Self.maximumBytes else { return .tooMany }
        self.byteCount = byteCount
        if known == nil { lastOrder += 1 }
        members[member.userID] = (known?.order ?? lastOrder, member)
        return known == nil ? .new : .known
    }

    private static func cost(of member: Member) -> Int {
        member.userID.utf8.count + (member.userInfo?.utf8.count ?? 0) + overhead
    }

    /// Removes a member and returns what was known last, or nil for an unknown one.
    package mutating func remove(userID: String) -> Member? {
        guard let member = members.removeValue(forKey: userID)?.member else { return nil }
        byteCount -= Self.cost(of: member)
        return member
    }

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.all == rhs.all }

    package func hash(into hasher: inout Hasher) { hasher.combine(all) }
}

extension PresenceMembers {
    /// The list in the data of a successful subscription: `{"presence":{"ids":[…],"hash":{…},"count":n}}`. `ids` may be
    /// missing, and an empty `hash` may be `[]`. Nil if there is neither.
    package init?(subscriptionData: String?) {
        guard let data = subscriptionData.flatMap(JSON.object), let presence = data["presence"] as? [String: Any],
            presence["hash"] is [String: Any] || presence["hash"] is [Any] || presence["ids"] is [Any]
        else { return nil }
        self.init()
        let hash = presence["hash"] as? [String: Any] ?? [:]
        let ids = (presence["ids"] as? [Any] ?? []).compactMap(JSON.identifier)
        for id in ids + hash.keys.sorted() {
            guard self[id] == nil else { continue }
            _ = add(Member(userID: id, userInfo: hash[id].flatMap(Member.infoText)))
        }
    }
}

extension PresenceMembers.Member {
    /// A member in the data of `member_added`, `member_removed` or in `channel_data`. Nil without a user id.
    package init?(data: String?) {
        guard let object = data.flatMap(JSON.object), let id = JSON.identifier(object["user_id"]) else { return nil }
        self.init(userID: id, userInfo: object["user_info"].flatMap(Self.infoText))
    }

    fileprivate static func infoText(_ value: Any) -> String? {
        value is NSNull ? nil : JSON.text(value)
    }
}
