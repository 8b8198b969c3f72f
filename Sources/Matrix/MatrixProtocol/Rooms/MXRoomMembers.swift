import Basics
import JSONBytes
import Realtime

/// The members in a room's state. With lazy loading, some may be missing.
public struct MXRoomMembers: Sendable {
    private var events = ShardedTable<ByteKey, MXEvent>()
    /// The number of joined and invited members by displayed name.
    private var names = ShardedTable<String, Int>()
    private var joinedCount = 0
    private var otherCounts: [MXMembership: Int] = [:]

    package init() {}

    /// All members, including those who have left, in no particular order.
    public var members: [MXRoomMember] { events.all.map { MXRoomMember(userId: $0.key.string, $0.value) } }

    /// The members who have joined.
    public var joinedMembers: [MXRoomMember] { members(with: .join) }

    /// Returns the members with a membership, in no particular order.
    public func members(with membership: MXMembership) -> [MXRoomMember] {
        guard count(of: membership) > 0 else { return [] }
        return events.all.compactMap {
            let member = MXRoomMember(userId: $0.key.string, $0.value)
            return member.membership == membership ? member : nil
        }
    }

    /// Returns the users with these memberships, except `userId`, by the age of their membership, oldest first.
    ///
    /// Reads only a few members' content: a room of 100,000 is named after two of them.
    func oldest(_ count: Int, of kinds: [MXMembership], but userId: String) -> [String] {
        var oldest: [(age: UInt64, id: String)] = []
        let user = ByteKey(userId)
        for (id, event) in events.all where id != user {
            let candidate = (age: event.originServerTs, id: id.string)
            if oldest.count == count, let last = oldest.last, candidate > last { continue }
            guard kinds.contains(Self.membership(of: event)) else { continue }
            oldest.insert(candidate, at: oldest.firstIndex { candidate < $0 } ?? oldest.count)
            if oldest.count > count { oldest.removeLast() }
        }
        return oldest.map(\.id)
    }

    /// Returns a member; `nil` if the user is not in the state.
    public func member(withUserId userId: String) -> MXRoomMember? {
        events[ByteKey(userId)].map { MXRoomMember(userId: userId, $0) }
    }

    /// Returns the number of known members with a membership.
    public func count(of membership: MXMembership) -> Int {
        membership == .join ? joinedCount : otherCounts[membership] ?? 0
    }

    /// The number of known members, including those who have left.
    public var count: Int { events.count }

    /// Returns the name to show for a user: the display name, followed by the user id if another member has the same
    /// name. If there is no visible name, returns the user id.
    public func memberName(_ userId: String) -> String {
        guard let event = events[ByteKey(userId)], let name = Self.shownName(event.contentJSON["displayname"]?.string)
        else {
            return userId
        }
        let isMember = Self.isPresent(Self.membership(of: event))
        let isTaken = (names[name] ?? 0) > (isMember ? 1 : 0)
        let looksLikeId = name.hasPrefix("@") && name.contains(":") && name != userId
        return isTaken || looksLikeId ? "\(name) (\(userId))" : name
    }

    /// Returns the name without invisible and direction-changing characters; `nil` if nothing is left.
    static func shownName(_ name: String?) -> String? {
        guard let name else { return nil }
        // Fast path for nearly all names.
        if name.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), name.utf8.first != 0x20, name.utf8.last != 0x20 {
            return name.isEmpty ? nil : name
        }
        var shown = name.unicodeScalars.filter(isShown)[...]
        while let first = shown.first, isBlank(first) { shown.removeFirst() }
        while let last = shown.last, isBlank(last) { shown.removeLast() }
        guard !shown.isEmpty else { return nil }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: shown)
        return String(text)
    }

    private static let joiner: Unicode.Scalar = "\u{200D}"

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
        case .format: scalar == joiner  // joins emoji into one; all others only hide or reorder text
        default: true
        }
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar == joiner
    }

    // MARK: Changes

    var all: [MXEvent] { events.all.map(\.value) }

    subscript(userId: String) -> MXEvent? { events[ByteKey(userId)] }

    /// - Returns: The replaced event.
    mutating func set(_ event: MXEvent?, for userId: String) -> MXEvent? {
        let old = events.update(ByteKey(userId), event)
        if let old { count(old, by: -1) }
        if let event { count(event, by: 1) }
        return old
    }

    private mutating func count(_ event: MXEvent, by step: Int) {
        let content = event.contentJSON
        let membership = MXMembership(identifier: content["membership"]?.string)
        if membership == .join { joinedCount += step } else { otherCounts[membership, default: 0] += step }
        guard Self.isPresent(membership), let name = Self.shownName(content["displayname"]?.string) else { return }
        let holders = (names[name] ?? 0) + step
        names[name] = holders > 0 ? holders : nil
    }

    private static func membership(of event: MXEvent) -> MXMembership {
        MXMembership(identifier: event.contentJSON["membership"]?.string)
    }

    private static func isPresent(_ membership: MXMembership) -> Bool {
        switch membership {
        case .join, .invite: true
        case .leave, .ban, .knock, .unknown: false
        }
    }
}
