import Foundation
package import Realtime

/// One frame from the server, classified by how the client handles it.
package enum ServerEvent: Sendable {
    /// - Parameter activityTimeout: `nil` if missing, zero, or not a number.
    case connectionEstablished(SocketID, activityTimeout: Duration?)
    /// `code` is null or absent for errors that concern a single request.
    case error(RealtimeEvent, code: Int?, message: String)
    case ping
    case pong
    case subscriptionSucceeded(RealtimeEvent)
    case subscriptionFailed(RealtimeEvent, reason: String)
    case memberAdded(RealtimeEvent)
    case memberRemoved(RealtimeEvent)
    case subscriptionCount(RealtimeEvent, Int)
    /// A cache channel has no event for a new subscriber.
    case cacheMissed(RealtimeEvent)
    /// The client is signed in; `nil` if the frame doesn't identify the user.
    case signedIn(SignedInUser?)
    case watchlist([WatchlistChange])
    /// A `pusher_internal:` event that this version does not know; never shown to the application.
    case unknownInternal(name: String)
    /// Any other event, including names that only resemble the protocol's.
    case application(RealtimeEvent)

    package init(_ event: RealtimeEvent) throws(MalformedFrame) {
        guard event.isOfProtocol else {
            self = .application(event)
            return
        }
        let name = event.eventName
        // A publisher on a channel must not be able to fake events of the connection.
        let isOfConnection = !event.hasChannel
        switch name {
        case "pusher:connection_established" where isOfConnection: self = try Self.connectionEstablished(event)
        case "pusher:error": self = Self.error(event)
        case "pusher:ping" where isOfConnection: self = .ping
        case "pusher:pong" where isOfConnection: self = .pong
        case "pusher_internal:subscription_succeeded": self = .subscriptionSucceeded(event)
        case "pusher:subscription_error", "pusher_internal:subscription_error":
            self = .subscriptionFailed(event, reason: Self.subscriptionErrorReason(event))
        case "pusher_internal:member_added": self = .memberAdded(event)
        case "pusher_internal:member_removed": self = .memberRemoved(event)
        case "pusher_internal:subscription_count": self = try Self.subscriptionCount(event)
        case "pusher:cache_miss": self = .cacheMissed(event)
        case "pusher:signin_success" where isOfConnection:
            self = .signedIn(SignedInUser(signinData: event.data))
        case "pusher_internal:watchlist_events" where isOfConnection:
            self = .watchlist(try WatchlistChange.list(event.data))
        default:
            self = name.utf8.starts(with: "pusher_internal:".utf8) ? .unknownInternal(name: name) : .application(event)
        }
    }

    private static func connectionEstablished(_ event: RealtimeEvent) throws(MalformedFrame) -> ServerEvent {
        guard let object = event.data.flatMap(JSON.object), let id = object["socket_id"] as? String,
            let socketID = SocketID(id)
        else { throw MalformedFrame(reason: "it establishes the connection without a valid socket_id") }
        let seconds =
            (object["activity_timeout"] as? NSNumber)?.doubleValue
            ?? (object["activity_timeout"] as? String).flatMap(Double.init)
        let timeout = seconds.flatMap { $0 > 0 && $0 < 1e6 ? Duration.seconds($0) : nil }
        return .connectionEstablished(socketID, activityTimeout: timeout)
    }

    private static func error(_ event: RealtimeEvent) -> ServerEvent {
        let object = event.data.flatMap(JSON.object) ?? [:]
        return .error(
            event, code: JSON.integer(object["code"]), message: object["message"] as? String ?? "")
    }

    private static func subscriptionCount(_ event: RealtimeEvent) throws(MalformedFrame) -> ServerEvent {
        let object = event.data.flatMap(JSON.object) ?? [:]
        guard let count = JSON.integer(object["subscription_count"]), count >= 0 else {
            throw MalformedFrame(reason: "it has no subscription_count")
        }
        return .subscriptionCount(event, count)
    }

    private static func subscriptionErrorReason(_ event: RealtimeEvent) -> String {
        let object = event.data.flatMap(JSON.object) ?? [:]
        let parts = [object["type"] as? String, object["error"] as? String].compactMap(\.self).filter { !$0.isEmpty }
        let status = JSON.integer(object["status"]).map { " (status \($0))" } ?? ""
        return parts.isEmpty ? "the server gave no reason" : parts.joined(separator: ": ") + status
    }
}

extension RealtimeEvent {
    /// Whether the name starts with `pusher` and needs a closer look.
    var isOfProtocol: Bool {
        withName { $0.count >= 6 && memcmp($0.baseAddress.unsafelyUnwrapped, "pusher", 6) == 0 }
    }
}
