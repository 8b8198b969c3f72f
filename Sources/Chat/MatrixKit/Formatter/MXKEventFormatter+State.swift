import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK

extension MXKEventFormatter {
    /// Returns the text of a state event, or of another room event that is not a message.
    func stateWords(_ event: MXEvent, _ state: MXRoomState?) throws -> String? {
        let content = event.contentJSON
        let sender = senderDisplayName(for: event, with: state) ?? event.sender
        /// Uses the wording for «you» if the user is the sender.
        func said(_ key: String, _ values: [String: String?] = [:]) -> String {
            let keys = isMe(event.sender) ? ["\(key).you", key] : [key]
            return language.text(keys, values.merging(["sender": sender]) { $1 })
        }
        /// Returns the wording for a field that was set or removed.
        func said(_ key: String, _ field: String, _ value: String?) -> String {
            let value = Self.name(value)
            return said(value == nil ? "\(key).removed" : "\(key).set", [field: value])
        }
        switch event.type {
        case "m.room.member": return membership(event, state)
        case "m.room.name": return said("name", "name", content["name"]?.string)
        case "m.room.topic": return said("topic", "topic", content["topic"]?.string)
        case "m.room.avatar": return said("avatar", "url", content["url"]?.string)
        case "m.room.create": return said(isDirect(event) ? "create.direct" : "create")
        case "m.room.join_rules":
            guard let rule = content["join_rule"]?.string else { throw MXKEventFormatterError.unexpected }
            let isKnown = ["public", "invite", "knock"].contains(rule)
            return said(isKnown ? "joinRule.\(rule)" : "joinRule.other", ["rule": rule])
        case "m.room.history_visibility":
            guard let visibility = content["history_visibility"]?.string,
                ["world_readable", "shared", "invited", "joined"].contains(visibility)
            else { throw MXKEventFormatterError.unexpected }
            return said("history.\(visibility)")
        case "m.room.power_levels": return said("power.set", ["levels": levels(event, state)])
        case "m.room.canonical_alias", "m.room.aliases":
            let aliases =
                (content["aliases"]?.array?.compactMap(\.string) ?? [])
                + [content["alias"]?.string].compactMap { $0 }
            return said(aliases.isEmpty ? "aliases.none" : "aliases", ["aliases": aliases.joined(separator: ", ")])
        case "m.room.encryption":
            let algorithm = content["algorithm"]?.string
            return algorithm == "m.megolm.v1.aes-sha2"
                ? said("encryption") : said("encryption.unknown", ["algorithm": algorithm ?? "?"])
        case "m.room.guest_access":
            return said(content["guest_access"]?.string == "can_join" ? "guests.can_join" : "guests.forbidden")
        case "m.room.pinned_events": return said("pinned")
        case "m.room.tombstone": return said("tombstone", ["body": content["body"]?.string])
        case "m.room.server_acl": return said("serverACL")
        case "m.room.third_party_invite":
            let name = content["display_name"]?.string ?? event.prevContent?["display_name"]?.string
            return said(content["display_name"] == nil ? "thirdParty.withdrawn" : "thirdParty.sent", ["name": name])
        case "m.call.invite":
            let isVideo = content["offer"]?["sdp"]?.string?.contains("m=video") ?? false
            return said(isVideo ? "call.video" : "call.voice")
        case "m.call.answer": return said("call.answer")
        case "m.call.hangup": return said("call.hangup")
        case "m.call.reject": return said("call.reject")
        case "m.key.verification.done": return said("verification.done")
        case "m.key.verification.cancel": return said("verification.cancel")
        case "m.room.redaction":
            guard settings.showRedactionsInRoomHistory else { return nil }
            return said("redaction", ["reason": reason(content["reason"]?.string)])
        default:
            guard settings.showUnsupportedEventsInRoomHistory else { throw MXKEventFormatterError.unknownEventType }
            return language.text("unsupported", ["type": event.type])
        }
    }

    private func isDirect(_ event: MXEvent) -> Bool {
        event.roomId.flatMap { mxSession?.room(withRoomId: $0) }?.isDirect ?? false
    }

    private func levels(_ event: MXEvent, _ state: MXRoomState?) -> String {
        let new = event.contentJSON["users"]?.foundation as? [String: Any] ?? [:]
        let old = event.prevContent?["users"]?.foundation as? [String: Any] ?? [:]
        func number(_ value: Any?) -> Int? { (value as? NSNumber)?.intValue ?? (value as? String).flatMap { Int($0) } }
        // The changed levels, or all levels if the earlier ones are unknown.
        let users = Set(new.keys).union(old.keys).filter { number(new[$0]) != number(old[$0]) }.sorted()
        return users.map { user in
            let level = number(new[user]) ?? number(event.contentJSON["users_default"]?.foundation) ?? 0
            return language.text(
                "power.level", ["user": state?.members.memberName(user) ?? user, "level": String(level)])
        }.joined(separator: ", ")
    }

    // MARK: Members

    private func membership(_ event: MXEvent, _ state: MXRoomState?) -> String? {
        guard let member = MXRoomMember(event) else { return nil }
        let user = targetDisplayName(for: event, with: state) ?? member.userId
        let sender = senderDisplayName(for: event, with: state) ?? event.sender
        let (isByMe, isAboutMe) = (isMe(event.sender), isMe(member.userId))
        func said(_ key: String, _ more: [String: String?] = [:]) -> String {
            let keys = [isByMe ? "\(key).you" : nil, isAboutMe ? "\(key).me" : nil, key].compactMap { $0 }
            let values: [String: String?] = ["sender": sender, "user": user, "reason": reason(member.reason)]
            return language.text(keys, values.merging(more) { $1 })
        }
        switch member.change {
        case .joined:
            if let invite = event.contentJSON["third_party_invite"]?["display_name"]?.string {
                return said("thirdParty.accepted", ["name": invite])
            }
            return said("member.joined")
        case .invited: return said("member.invited")
        case .knocked: return said("member.knocked")
        case .left: return said("member.left")
        case .banned: return said("member.banned")
        case .declined: return said("member.declined")
        case .knockTakenBack: return said("member.knockTakenBack")
        case .kicked: return said("member.kicked")
        case .unbanned: return said("member.unbanned")
        case .invitationWithdrawn: return said("member.withdrawn")
        case .knockRefused: return said("member.knockRefused")
        case .profileChanged: return profile(member, said)
        case .unknown: return nil
        }
    }

    private func profile(_ member: MXRoomMember, _ said: (String, [String: String?]) -> String) -> String? {
        let (old, new) = (Self.name(member.prevDisplayname), Self.name(member.displayname))
        let isRenamed = old != new
        let hasNewPicture = member.prevAvatarUrl != member.avatarUrl
        let names: [String: String?] = ["old": old ?? member.userId, "new": new ?? member.userId]
        switch (isRenamed, hasNewPicture) {
        case (true, true): return said("profile.both", names)
        case (true, false):
            return said(new == nil ? "profile.unnamed" : old == nil ? "profile.named" : "profile.renamed", names)
        case (false, true): return said("profile.avatar", names)
        case (false, false): return nil
        }
    }

    /// Returns a summary such as `4 joined, 2 left, 3 changed their names`; `nil` if none of it is shown.
    func summary(of events: [MXEvent]) -> String? {
        var counts: [(key: String, users: Set<String>)] = [
            "joined", "left", "invited", "removed", "renamed", "pictures", "other",
        ].map { ("collapsed.\($0)", []) }
        for event in events {
            let (key, user) = Self.summaryKey(event)
            if let index = counts.firstIndex(where: { $0.key == key }) { counts[index].users.insert(user) }
        }
        let parts = counts.filter { !$0.users.isEmpty }.map { language.text($0.key, ["count": String($0.users.count)]) }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private static func summaryKey(_ event: MXEvent) -> (key: String, user: String) {
        guard let member = MXRoomMember(event) else { return ("collapsed.other", event.eventId) }
        let key =
            switch member.change {
            case .joined: "joined"
            case .left, .declined, .knockTakenBack: "left"
            case .invited, .knocked: "invited"
            case .banned, .kicked, .invitationWithdrawn, .knockRefused: "removed"
            case .profileChanged: member.prevDisplayname != member.displayname ? "renamed" : "pictures"
            case .unbanned, .unknown: "other"
            }
        return ("collapsed.\(key)", member.userId)
    }
}
