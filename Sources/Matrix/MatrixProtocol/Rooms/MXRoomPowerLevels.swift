import Basics
package import JSONBytes
import Realtime

/// Who may do what in a room (client-server specification, `m.room.power_levels`).
public struct MXRoomPowerLevels: Sendable, Hashable {
    /// Users with a level of their own.
    public private(set) var users: MXDictionary<Int> = [:]
    /// The level of all other users.
    public private(set) var usersDefault = 0
    /// What inviting needs.
    public private(set) var invite = 0
    /// What removing a user needs.
    public private(set) var kick = 50
    /// What banning needs.
    public private(set) var ban = 50
    /// What redacting the events of others needs.
    public private(set) var redact = 50
    /// What sending messages of other types than those in ``events`` needs.
    public private(set) var eventsDefault = 0
    /// What setting state of other types than those in ``events`` needs.
    public private(set) var stateDefault = 50
    /// Types that need another level than the defaults.
    public private(set) var events: MXDictionary<Int> = [:]
    /// What notifying needs, by kind: `room` is everybody.
    public private(set) var notifications: MXDictionary<Int> = [:]
    /// Since room version 12: users above every number.
    public private(set) var creators: [String] = []

    /// What is above every number.
    public static let creatorLevel = Int.max

    /// - Parameters:
    ///   - content: Of the event `m.room.power_levels`; nil in a room without one.
    ///   - creators: Of the room.
    ///   - roomVersion: Since version 12 creators are above all; before, they count only when `content` is nil.
    package init(_ content: JSONView?, creators: [String], roomVersion: RoomVersion) {
        if roomVersion.creatorsAreAboveAll { self.creators = creators }
        guard let content else {
            if !roomVersion.creatorsAreAboveAll, let creator = creators.first { users = [creator: 100] }
            return
        }
        for (key, value) in content.members {
            switch key {
            case "users":
                users = Self.levels(value)
            case "events": events = Self.levels(value)
            case "notifications": notifications = Self.levels(value)
            case "users_default": usersDefault = Self.level(value) ?? usersDefault
            case "invite": invite = Self.level(value) ?? invite
            case "kick": kick = Self.level(value) ?? kick
            case "ban": ban = Self.level(value) ?? ban
            case "redact": redact = Self.level(value) ?? redact
            case "events_default": eventsDefault = Self.level(value) ?? eventsDefault
            case "state_default": stateDefault = Self.level(value) ?? stateDefault
            default: break
            }
        }
    }

    private static func levels(_ json: JSONView) -> MXDictionary<Int> {
        var levels = MXDictionary<Int>()
        for (name, value) in json.members { levels[name] = level(value) }
        return levels
    }

    /// Old rooms have numbers as strings.
    private static func level(_ json: JSONView) -> Int? {
        if let level = json.int { return min(level, creatorLevel - 1) }
        guard let text = json.string?.filter({ !$0.isWhitespace }) else { return nil }
        return Int(text).map { min($0, creatorLevel - 1) }
    }

    // MARK: Levels

    /// The level of a user; ``creatorLevel`` for creators who are above every number.
    public func powerLevelOfUser(withUserID userId: String) -> Int {
        creators.contains { $0.isExactly(userId) } ? Self.creatorLevel : users[userId] ?? usersDefault
    }

    /// What sending an event of this type needs, one that is not state.
    public func minimumPowerLevelForSendingEvent(asMessage type: String) -> Int { events[type] ?? eventsDefault }

    /// What setting state of this type needs.
    public func minimumPowerLevelForSendingEvent(asStateEvent type: String) -> Int { events[type] ?? stateDefault }

    /// What a mention of everybody (`room`) needs, or another kind of notification.
    public func minimumPowerLevelForNotifying(_ kind: String = "room") -> Int { notifications[kind] ?? 50 }

    // MARK: Rights

    /// Whether a user may send events of a type, one that is not state.
    public func canSendMessage(_ userId: String, type: String = "m.room.message") -> Bool {
        powerLevelOfUser(withUserID: userId) >= minimumPowerLevelForSendingEvent(asMessage: type)
    }

    /// Whether a user may set state of a type.
    public func canSendState(_ userId: String, type: String) -> Bool {
        powerLevelOfUser(withUserID: userId) >= minimumPowerLevelForSendingEvent(asStateEvent: type)
    }

    /// Whether a user may invite others.
    public func canInvite(_ userId: String) -> Bool { powerLevelOfUser(withUserID: userId) >= invite }

    /// Whether a user may remove `target`: only from below.
    public func canKick(_ userId: String, target: String) -> Bool {
        powerLevelOfUser(withUserID: userId) >= kick && isAbove(userId, target)
    }

    /// Whether a user may ban `target`: only from below.
    public func canBan(_ userId: String, target: String) -> Bool {
        powerLevelOfUser(withUserID: userId) >= ban && isAbove(userId, target)
    }

    /// Needs the levels of both banning and kicking.
    public func canUnban(_ userId: String, target: String) -> Bool {
        powerLevelOfUser(withUserID: userId) >= max(ban, kick) && isAbove(userId, target)
    }

    /// - Parameter sender: Whose event is to be redacted. Own ones need no more than sending a redaction does.
    public func canRedact(_ userId: String, eventOf sender: String) -> Bool {
        canSendMessage(userId, type: "m.room.redaction")
            && (userId.isExactly(sender) || powerLevelOfUser(withUserID: userId) >= redact)
    }

    /// Whether a user may end polls of others (MSC3381).
    package func mayEndPolls(_ userId: String) -> Bool { powerLevelOfUser(withUserID: userId) >= redact }

    /// Whether a mention of everybody notifies.
    public func canNotifyRoom(_ userId: String, kind: String = "room") -> Bool {
        powerLevelOfUser(withUserID: userId) >= minimumPowerLevelForNotifying(kind)
    }

    /// Whether the level of `target` can be changed to `level`: never above one's own, nor of others at the same level.
    public func canChangeLevel(_ userId: String, of target: String, to level: Int) -> Bool {
        canSendState(userId, type: "m.room.power_levels") && !creators.contains(target)
            && powerLevelOfUser(withUserID: userId) >= level && (userId.isExactly(target) || isAbove(userId, target))
    }

    private func isAbove(_ userId: String, _ target: String) -> Bool {
        powerLevelOfUser(withUserID: userId) > powerLevelOfUser(withUserID: target)
    }
}
