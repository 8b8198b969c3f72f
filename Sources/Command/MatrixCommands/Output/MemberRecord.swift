import CommandKit
import MatrixSDK

/// A member of a room, as a line.
struct MemberRecord: ListRecord {
    let member: MXRoomMember
    let roomID: String
    /// The power level; `MXRoomPowerLevels.creatorLevel` for creators, who are above every number.
    let level: Int

    private var isCreator: Bool { level == MXRoomPowerLevels.creatorLevel }

    var json: String {
        var line = JSONLine(type: "member")
        line.add("room_id", roomID)
        line.add("user_id", member.userId)
        line.add("name", member.displayname)
        line.add("membership", member.membership.rawValue)
        if isCreator { line.add("creator", json: "true") } else { line.add("power_level", level) }
        line.add("reason", member.reason)
        return line.text
    }

    /// Returns columns such as `Alice  @alice:example.org  power 100`, or `@spam:example.net  ban: advertising`.
    func columns(style: TextStyle) -> [TerminalText] {
        let reason = member.reason.map { ": \($0)" } ?? ""
        let parts: [TerminalText?] = [
            style.event(member.displayname ?? ""), style.channel(member.userId),
            isCreator ? "creator" : level == 0 ? nil : "power \(level)",
            member.membership == .join ? nil : "\(member.membership.rawValue)\(reason)",
        ]
        return parts.map { $0 ?? "" }
    }
}

extension MemberRecord: Comparable {
    /// Sorts by power level, highest first, then by name.
    static func < (lhs: MemberRecord, rhs: MemberRecord) -> Bool {
        (rhs.level, lhs.name, lhs.member.userId) < (lhs.level, rhs.name, rhs.member.userId)
    }

    private var name: String { (member.displayname ?? member.userId).lowercased() }
}
