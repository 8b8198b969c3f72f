import Foundation
import PusherProtocol

/// One event of a webhook.
@nonexhaustive
public enum PusherWebhookEvent: Hashable, Sendable {
    /// The first connection subscribed.
    case channelOccupied(channel: String)
    /// The last connection left.
    case channelVacated(channel: String)
    /// A user joined a presence channel.
    case memberAdded(channel: String, userID: String)
    /// A user left a presence channel.
    case memberRemoved(channel: String, userID: String)
    /// A client published an event.
    case clientEvent(ClientEvent)
    /// A client subscribed to a cache channel that stores no event.
    case cacheMiss(channel: String)
    /// The number of connections on a channel changed.
    case subscriptionCount(channel: String, count: Int)
    /// Any other event, as JSON text: one with a name newer than this library, or one that lacks required members.
    case unknown(name: String?, json: String)

    /// An event that a client published.
    public struct ClientEvent: Hashable, Sendable {
        /// The channel it was published on.
        public let channel: String
        /// The event's name.
        public let event: String
        /// The data as text, decrypted if possible; `nil` if there is none.
        public let data: String?
        /// Whether the data is still encrypted: there was no master key, or it is the wrong one.
        public let isEncrypted: Bool
        /// The connection that published it.
        public let socketID: String?
        /// The user of that connection, on presence channels.
        public let userID: String?
    }

    init(_ object: [String: Any], masterKey: EncryptionMasterKey?) {
        let name = object["name"] as? String
        self =
            Self.known(name, object, masterKey) ?? .unknown(name: name, json: JSON.text(object) ?? "{}")
    }

    private static func known(
        _ name: String?, _ object: [String: Any], _ masterKey: EncryptionMasterKey?
    ) -> PusherWebhookEvent? {
        guard let channel = object["channel"] as? String else { return nil }
        let userID = JSON.identifier(object["user_id"]).flatMap { $0.isEmpty ? nil : $0 }
        switch name {
        case "channel_occupied": return .channelOccupied(channel: channel)
        case "channel_vacated": return .channelVacated(channel: channel)
        case "cache_miss": return .cacheMiss(channel: channel)
        case "member_added": return userID.map { .memberAdded(channel: channel, userID: $0) }
        case "member_removed": return userID.map { .memberRemoved(channel: channel, userID: $0) }
        case "subscription_count":
            return JSON.integer(object["subscription_count"]).map { .subscriptionCount(channel: channel, count: $0) }
        case "client_event": return ClientEvent(object, channel: channel, masterKey: masterKey).map { .clientEvent($0) }
        default: return nil  // the server defines the names
        }
    }
}

extension PusherWebhookEvent.ClientEvent {
    fileprivate init?(_ object: [String: Any], channel: String, masterKey: EncryptionMasterKey?) {
        guard let event = object["event"] as? String else { return nil }
        self.channel = channel
        self.event = event
        socketID = object["socket_id"] as? String
        userID = JSON.identifier(object["user_id"])
        let text = object["data"].flatMap { $0 as? String ?? ($0 is NSNull ? nil : JSON.text($0)) }
        guard let name = try? ChannelName(channel), name.kind == .encrypted, let text else {
            (data, isEncrypted) = (text, false)
            return
        }
        let opened = masterKey.flatMap { try? $0.key(of: name).decrypt(text) }
        (data, isEncrypted) = (opened ?? text, opened == nil)
    }
}
