import Basics
import PusherProtocol
public import Realtime

/// A channel that knows who is on it.
public final class PusherPresenceChannel: PusherChannel, @unchecked Sendable {
    /// Somebody came or went.
    public enum MemberChange: Sendable {
        /// A user's first connection to the channel.
        case added(PusherPresenceChannelMember)
        /// A user's last connection is gone; with what was known of the user.
        case removed(PusherPresenceChannelMember)
    }

    /// Who is on the channel, in order of arrival; empty unless subscribed.
    public var members: [PusherPresenceChannelMember] {
        core.read { $0.members(of: id) }.all.map(PusherPresenceChannelMember.init)
    }

    /// The own user id; nil before the channel is authorized.
    public var myId: String? { core.read { $0.myID(on: id) } }

    /// The own entry among the members; nil unless subscribed.
    public func me() -> PusherPresenceChannelMember? { myId.flatMap(findMember(userId:)) }

    /// The member of this id; nil if there is none. Ids compare byte for byte, as on the server: `é` in one Unicode scalar
    /// and in two are two members.
    public func findMember(userId: String) -> PusherPresenceChannelMember? {
        core.read { $0.members(of: id)[userId] }.map(PusherPresenceChannelMember.init)
    }

    /// Called when a user arrives.
    public var onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? {
        get { core.callbacks.withLock { $0.channels[id]?.handlers.memberAdded } }
        set { core.setHandlers(of: id) { $0.memberAdded = newValue } }
    }

    /// Called when a user has left.
    public var onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? {
        get { core.callbacks.withLock { $0.channels[id]?.handlers.memberRemoved } }
        set { core.setHandlers(of: id) { $0.memberRemoved = newValue } }
    }

    /// Arrivals and departures from this call on. Keeps the newest 1,024 for a slow reader.
    public var memberChanges: EventSequence<MemberChange> {
        let id = id
        return core.observe(id) { notice in
            if case .memberAdded(id, let member) = notice { return .added(PusherPresenceChannelMember(member)) }
            if case .memberRemoved(id, let member) = notice { return .removed(PusherPresenceChannelMember(member)) }
            return nil
        }
    }
}
