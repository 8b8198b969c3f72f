import Realtime

/// Members of presence channels (Pusher protocol, "Presence channel events").
extension ClientMachine {
    /// Replaces the members by the list from a successful subscription.
    mutating func replaceMembers(of id: EventRouter.ChannelID, with event: RealtimeEvent) {
        guard let list = PresenceList(event.dataBytes) else {
            reportPresence(event, "its member list cannot be read")
            return
        }
        channels[id]?.members = list.members
        if list.withoutID > 0 {
            reportPresence(event, "entries of its member list without a user id were left out: \(list.withoutID)")
        }
        if list.isCut { reportTooManyMembers(event) }
    }

    mutating func memberAdded(_ event: RealtimeEvent) {
        guard let (_, entry, channel) = channel(of: event), channel.isSubscribed else { return }
        guard let member = PresenceMembers.Member(data: event.data) else {
            return reportPresence(event, "a member without a user_id arrived")
        }
        switch channels[entry.id]?.members.add(member) {
        case .new: break
        case .known, nil: return  // not a new member
        case .tooMany: return reportTooManyMembers(event)
        }
        notices.append(.memberAdded(entry.id, member))
        notices.append(event.renamed("pusher:member_added"), on: entry.id)
    }

    mutating func memberRemoved(_ event: RealtimeEvent) {
        guard let (_, entry, channel) = channel(of: event), channel.isSubscribed else { return }
        guard let member = PresenceMembers.Member(data: event.data) else {
            return reportPresence(event, "a member without a user_id left")
        }
        guard let known = channels[entry.id]?.members.remove(userID: member.userID) else { return }
        notices.append(.memberRemoved(entry.id, known))
        notices.append(event.renamed("pusher:member_removed"), on: entry.id)
    }

    private mutating func reportTooManyMembers(_ event: RealtimeEvent) {
        reportPresence(
            event, "members were left out: there are more than \(PresenceMembers.maximumBytes) bytes of them")
    }

    private mutating func reportPresence(_ event: RealtimeEvent, _ what: String) {
        report(PusherError(.malformedMessage, what, channelName: event.channelName))
    }
}
