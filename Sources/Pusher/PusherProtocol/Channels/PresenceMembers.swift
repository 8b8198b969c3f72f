import Basics
import JSONBytes

/// The members of a presence channel. User ids compare byte for byte; a number is the same id as its digits in a string.
///
/// There may be 100,000 members, so each takes about as many bytes as the server sent.
package struct PresenceMembers: Sendable {
    package struct Member: Sendable {
        package let userID: String
        /// JSON text; `nil` if the server sent nothing or null.
        package let userInfo: String?

        package init(userID: String, userInfo: String? = nil) {
            self.userID = userID
            self.userInfo = userInfo
        }
    }

    package enum Addition: Hashable, Sendable {
        case new
        /// The member was known; its information is updated.
        case known
        /// The member was skipped because the known members already take the allowed number of bytes.
        case tooMany
    }

    /// The maximum bytes of all ids and infos, including 128 bytes of overhead per member. A server may add any number
    /// of members.
    package static let maximumBytes = 16 << 20
    private static let overhead = 128

    private var members: [UserID: (order: Int, userInfo: String?)] = [:]
    private var lastOrder = 0
    private var byteCount = 0

    package init() {}

    package var count: Int { members.count }

    /// All members, in order of arrival.
    package var all: [Member] {
        members.sorted { $0.value.order < $1.value.order }
            .map { Member(userID: $0.key.text, userInfo: $0.value.userInfo) }
    }

    package subscript(userID: String) -> Member? {
        members[UserID(text: userID)].map { Member(userID: userID, userInfo: $0.userInfo) }
    }

    /// Reserves capacity for `count` members, up to the maximum.
    mutating func reserveCapacity(_ count: Int) {
        members.reserveCapacity(min(count, Self.maximumBytes / Self.overhead))
    }

    /// Adds a member, or updates a known one.
    package mutating func add(_ member: Member) -> Addition {
        let key = UserID(text: member.userID)
        let known = members[key]
        let byteCount =
            byteCount - (known.map { Self.cost(key, $0.userInfo) } ?? 0) + Self.cost(key, member.userInfo)
        guard byteCount <= Self.maximumBytes else { return .tooMany }
        self.byteCount = byteCount
        if known == nil { lastOrder += 1 }
        members[key] = (known?.order ?? lastOrder, member.userInfo)
        return known == nil ? .new : .known
    }

    private static func cost(_ key: UserID, _ userInfo: String?) -> Int {
        key.text.utf8.count + (userInfo?.utf8.count ?? 0) + overhead
    }

    /// Removes a member and returns its last known information, or `nil` if it is unknown.
    package mutating func remove(userID: String) -> Member? {
        let key = UserID(text: userID)
        guard let (_, userInfo) = members.removeValue(forKey: key) else { return nil }
        byteCount -= Self.cost(key, userInfo)
        return Member(userID: userID, userInfo: userInfo)
    }
}

/// A user id, compared like a ``ByteKey``. A `String` stores a short text without an allocation, which matters with
/// 100,000 members.
private struct UserID: Hashable {
    let text: String

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    static func == (lhs: UserID, rhs: UserID) -> Bool { lhs.text.isExactly(rhs.text) }
}

extension PresenceMembers.Member {
    /// Reads a member from the data of `member_added` or `member_removed`, or from `channel_data`. Returns `nil`
    /// without a user id.
    package init?(data: String?) {
        guard let data = data.map({ Array($0.utf8) }), JSONView.isJSON(data), let object = JSONView(data),
            let id = Self.userID(object["user_id"])
        else { return nil }
        self.init(userID: id, userInfo: object["user_info"].flatMap(Self.infoText))
    }

    /// Returns a user id from a non-empty string or a number.
    fileprivate static func userID(_ value: JSONView?) -> String? {
        JSON.identifier(value).flatMap { $0.isEmpty ? nil : $0 }
    }

    fileprivate static func infoText(_ value: JSONView) -> String? { value.isNull ? nil : value.compactText }
}

/// The members in the data of a successful subscription: `{"presence":{"ids":[…],"hash":{…},"count":n}}`. `ids` may be
/// missing, and an empty `hash` may be `[]`.
package struct PresenceList: Sendable {
    package private(set) var members = PresenceMembers()
    /// The number of entries skipped because they are not user ids, such as null, an empty string or an object.
    package private(set) var withoutID = 0
    /// Whether members were left out because they exceed the allowed bytes.
    package private(set) var isCut = false

    /// Returns `nil` if there is neither `ids` nor `hash`.
    package init?(_ data: [UInt8]) {
        guard JSONView.isJSON(data), let (ids, hash) = Self.parts(data) else { return nil }
        let infos = hash?.members ?? []
        members.reserveCapacity(infos.count)
        _ = ids?.forEachElement { add(PresenceMembers.Member.userID($0), nil) }
        // Members found only in the hash follow in the order of their ids.
        var others: [(key: String, value: JSONView)] = []
        for info in infos {
            if members[info.key] == nil { others.append(info) } else { add(info.key, info.value) }
        }
        for other in others.sorted(by: { $0.key.precedesExactly($1.key) }) {
            add(other.key.isEmpty ? nil : other.key, other.value)
        }
    }

    /// Returns the number of members in a list, without storing any. `nil` if there is neither `ids` nor `hash`.
    package static func memberCount(_ data: [UInt8]) -> Int? {
        guard let (ids, hash) = parts(data) else { return nil }
        var members: Set<UserID> = []
        _ = ids?.forEachElement { id in
            if let id = PresenceMembers.Member.userID(id) { members.insert(UserID(text: id)) }
        }
        hash?.forEachMember { id, _ in
            if !id.isEmpty { members.insert(UserID(text: id)) }
        }
        return members.count
    }

    private static func parts(_ data: [UInt8]) -> (ids: JSONView?, hash: JSONView?)? {
        guard let presence = JSONView(data)?["presence"] else { return nil }
        let ids = presence["ids"].flatMap { $0.isArray ? $0 : nil }
        let hash = presence["hash"].flatMap { $0.isObject || $0.isArray ? $0 : nil }
        return ids == nil && hash == nil ? nil : (ids, hash)
    }

    private mutating func add(_ id: String?, _ info: JSONView?) {
        guard let id else { return withoutID += 1 }
        let member = PresenceMembers.Member(
            userID: id, userInfo: info.flatMap(PresenceMembers.Member.infoText))
        guard members.add(member) == .tooMany else { return }
        isCut = true
        _ = members.remove(userID: id)
    }
}
