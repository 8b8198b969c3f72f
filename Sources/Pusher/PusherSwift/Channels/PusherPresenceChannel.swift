import Basics
import PusherProtocol
public import Realtime

/// A channel with a list of its members.
public final class PusherPresenceChannel: PusherChannel, @unchecked Sendable {
    /// A change of the members.
    public enum MemberChange: Sendable {
        /// A user's first connection to the channel.
        case added(PusherPresenceChannelMember)
        /// A user's last connection left the channel; with the user's last known information.
        case removed(PusherPresenceChannelMember)
    }

    /// The members of the channel, in order of arrival; empty unless subscribed.
    public var members: [PusherPresenceChannelMember] {
        core.read { $0.members(of: id) }.all.map(PusherPresenceChannelMember.init)
    }

    /// The client's own user id; `nil` until the channel is authorized.
    public var myId: String? { core.read { $0.myID(on: id) } }

    /// Returns the client's own entry among the members; `nil` unless subscribed.
    public func me() -> PusherPresenceChannelMember? { myId.flatMap(findMember(userId:)) }

    /// Returns the member of this id; `nil` if there is none. Ids compare byte for byte, as on the server: `é` as one
    /// Unicode scalar and as two are different members.
    public func findMember(userId: String) -> PusherPresenceChannelMember? {
        core.read { $0.members(of: id)[userId] }.map(PusherPresenceChannelMember.init)
    }

    /// Called when a user joins.
    public var onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? {
        get { core.callbacks.withLock { $0.channels[id]?.handlers.memberAdded } }
        set { core.setHandlers(of: id) { $0.memberAdded = newValue } }
    }

    /// Called when a user has left.
    public var onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? {
        get { core.callbacks.withLock { $0.channels[id]?.handlers.memberRemoved } }
        set { core.setHandlers(of: id) { $0.memberRemoved = newValue } }
    }

    /// Arrivals and departures from this call on. Buffers the newest 1,024 for a slow reader.
    public var memberChanges: EventSequence<MemberChange> {
        let id = id
        return core.observe(id) { notice in
            if case .memberAdded(id, let member) = notice { return .added(PusherPresenceChannelMember(member)) }
            if case .memberRemoved(id, let member) = notice { return .removed(PusherPresenceChannelMember(member)) }
            return nil
        }
    }
}
