import Basics
package import JSONBytes
import Realtime

/// The power levels of a room (client-server specification, `m.room.power_levels`).
public struct MXRoomPowerLevels: Sendable, Hashable {
    /// The users with an individual level.
    public private(set) var users: MXDictionary<Int> = [:]
    /// The level of all other users.
    public private(set) var usersDefault = 0
    /// The level required to invite.
    public private(set) var invite = 0
    /// The level required to remove a user.
    public private(set) var kick = 50
    /// The level required to ban.
    public private(set) var ban = 50
    /// The level required to redact other users' events.
    public private(set) var redact = 50
    /// The level required to send messages whose type is not in ``events``.
    public private(set) var eventsDefault = 0
    /// The level required to set state whose type is not in ``events``.
    public private(set) var stateDefault = 50
    /// The levels required for individual event types.
    public private(set) var events: MXDictionary<Int> = [:]
    /// The levels required to notify, by kind; `room` means everyone.
    public private(set) var notifications: MXDictionary<Int> = [:]
    /// Since room version 12, the creators, who rank above any level.
    public private(set) var creators: [String] = []

    /// The level of creators who rank above any level.
    public static let creatorLevel = Int.max

    /// - Parameters:
    ///   - content: The content of `m.room.power_levels`; `nil` if the room has none.
    ///   - creators: The room's creators.
    ///   - roomVersion: Since version 12, creators rank above everyone. Before, they matter only if `content` is `nil`.
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

    /// Old rooms encode levels as strings.
    private static func level(_ json: JSONView) -> Int? {
        if let level = json.int { return min(level, creatorLevel - 1) }
        guard let text = json.string?.filter({ !$0.isWhitespace }) else { return nil }
        return Int(text).map { min($0, creatorLevel - 1) }
    }

    // MARK: Levels

    /// Returns the level of a user; ``creatorLevel`` for creators who rank above any level.
    public func powerLevelOfUser(withUserID userId: String) -> Int {
        creators.contains { $0.isExactly(userId) } ? Self.creatorLevel : users[userId] ?? usersDefault
    }

    /// Returns the level required to send a message event of this type.
    public func minimumPowerLevelForSendingEvent(asMessage type: String) -> Int { events[type] ?? eventsDefault }

    /// Returns the level required to set state of this type.
    public func minimumPowerLevelForSendingEvent(asStateEvent type: String) -> Int { events[type] ?? stateDefault }

    /// Returns the level required to mention everyone (`room`), or for another kind of notification.
    public func minimumPowerLevelForNotifying(_ kind: String = "room") -> Int { notifications[kind] ?? 50 }

    // MARK: Rights

    /// Returns whether a user may send message events of a type.
    public func canSendMessage(_ userId: String, type: String = "m.room.message") -> Bool {
        powerLevelOfUser(withUserID: userId) >= minimumPowerLevelForSendingEvent(asMessage: type)
    }

    /// Returns whether a user may set state of a type.
    public func canSendState(_ userId: String, type: String) -> Bool {
        powerLevelOfUser(withUserID: userId) >= minimumPowerLevelForSendingEvent(asStateEvent: type)
    }

    /// Returns whether a user may invite others.
    public func canInvite(_ userId: String) -> Bool { powerLevelOfUser(withUserID: userId) >= invite }

    /// Returns whether a user may remove `target`, whose level must be lower.
    public func canKick(_ userId: String, target: String) -> Bool {
        powerLevelOfUser(withUserID: userId) >= kick && isAbove(userId, target)
    }

    /// Returns whether a user may ban `target`, whose level must be lower.
    public func canBan(_ userId: String, target: String) -> Bool {
        powerLevelOfUser(withUserID: userId) >= ban && isAbove(userId, target)
    }

    /// Returns whether a user may unban `target`, which requires the levels for banning and kicking.
    public func canUnban(_ userId: String, target: String) -> Bool {
        powerLevelOfUser(withUserID: userId) >= max(ban, kick) && isAbove(userId, target)
    }

    /// - Parameter sender: The event's sender. Users who may send redactions may redact their own events.
    public func canRedact(_ userId: String, eventOf sender: String) -> Bool {
        canSendMessage(userId, type: "m.room.redaction")
            && (userId.isExactly(sender) || powerLevelOfUser(withUserID: userId) >= redact)
    }

    /// Returns whether a user may end other users' polls (MSC3381).
    package func mayEndPolls(_ userId: String) -> Bool { powerLevelOfUser(withUserID: userId) >= redact }

    /// Returns whether a user's mention of everyone notifies.
    public func canNotifyRoom(_ userId: String, kind: String = "room") -> Bool {
        powerLevelOfUser(withUserID: userId) >= minimumPowerLevelForNotifying(kind)
    }

    /// Returns whether a user may set the level of `target` to `level`: never above their own, nor for others at their
    /// level.
    public func canChangeLevel(_ userId: String, of target: String, to level: Int) -> Bool {
        canSendState(userId, type: "m.room.power_levels") && !creators.contains(target)
            && powerLevelOfUser(withUserID: userId) >= level && (userId.isExactly(target) || isAbove(userId, target))
    }

    private func isAbove(_ userId: String, _ target: String) -> Bool {
        powerLevelOfUser(withUserID: userId) > powerLevelOfUser(withUserID: target)
    }
}
