public import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// Returns the user's push rules, in the form of account data `m.push_rules`.
    public func pushRules() async throws -> JSONView {
        try await json(APICall(.get, "v3/pushrules/"))
    }

    /// Returns a push rule.
    ///
    /// - Parameter kind: `override`, `content`, `room`, `sender` or `underride`.
    public func pushRule(kind: String, ruleId: String) async throws -> JSONView {
        try await json(APICall(.get, "v3/pushrules/global/\(kind)/\(ruleId)"))
    }

    /// Adds or replaces a push rule.
    ///
    /// - Parameters:
    ///   - rule: `actions`, and `conditions` or `pattern`.
    ///   - before: The rule to insert it before.
    ///   - after: The rule to insert it after.
    public func setPushRule(
        kind: String, ruleId: String, rule: [String: Any], before: String? = nil, after: String? = nil
    ) async throws {
        try await setPushRule(kind: kind, ruleId: ruleId, rule: EncodedJSON(rule), before: before, after: after)
    }

    package func setPushRule(kind: String, ruleId: String, rule: EncodedJSON, before: String?, after: String?)
        async throws
    {
        try await perform(
            APICall(
                .put, "v3/pushrules/global/\(kind)/\(ruleId)", query: [("before", before), ("after", after)], body: rule
            ))
    }

    /// Removes a push rule.
    public func removePushRule(kind: String, ruleId: String) async throws {
        try await perform(APICall(.delete, "v3/pushrules/global/\(kind)/\(ruleId)"))
    }

    /// Enables or disables a push rule.
    public func enablePushRule(kind: String, ruleId: String, enabled: Bool) async throws {
        try await perform(
            APICall(.put, "v3/pushrules/global/\(kind)/\(ruleId)/enabled", json: ["enabled": enabled]))
    }

    /// Sets the actions of a push rule.
    ///
    /// - Parameter actions: The JSON text of an array, such as `["notify"]`.
    public func setPushRuleActions(kind: String, ruleId: String, actions: String) async throws {
        guard let actions = JSONView(Array(actions.utf8)), actions.array != nil, let list = actions.foundation else {
            throw MatrixError(.invalidArgument, "the actions of a push rule are a JSON array; nothing was sent")
        }
        try await perform(
            APICall(
                .put, "v3/pushrules/global/\(kind)/\(ruleId)/actions", body: EncodedJSON(["actions": list])))
    }

    /// Mutes a room: nothing in it notifies, not even a mention.
    ///
    /// The rule is an override named after the room, as in other clients.
    public func muteRoom(_ roomId: String) async throws {
        let condition: [String: any Sendable] = ["kind": "event_match", "key": "room_id", "pattern": roomId]
        let rule: [String: any Sendable] = ["conditions": [condition], "actions": [String]()]
        try await setPushRule(kind: "override", ruleId: roomId, rule: EncodedJSON(rule), before: nil, after: nil)
        // Setting a rule does not enable an existing, disabled one.
        try await enablePushRule(kind: "override", ruleId: roomId, enabled: true)
    }

    /// Reverts ``muteRoom(_:)``. Does nothing if the room is not muted.
    public func unmuteRoom(_ roomId: String) async throws {
        do {
            try await removePushRule(kind: "override", ruleId: roomId)
        } catch let error as MXError where error.errcode == kMXErrCodeStringNotFound {}
    }

    // MARK: Pushers

    /// Adds, changes or removes a pusher, which sends notifications to a gateway.
    ///
    /// - Parameters:
    ///   - pushKey: Identifies the target at the gateway. For APNs, the token in Base64.
    ///   - kind: ``MXPusherKind/none`` removes the pusher of this `pushKey` and `appId`.
    ///   - profileTag: Distinguishes this device's rules from those of other devices.
    ///   - data: `url`, whose path is `/_matrix/push/v1/notify`, and `format`.
    ///   - append: Whether to keep other users' pushers with this key.
    public func setPusher(
        pushKey: String, kind: MXPusherKind, appId: String, appDisplayName: String, deviceDisplayName: String,
        profileTag: String, lang: String, data: [String: Any], append: Bool, enabled: Bool = true
    ) async throws {
        try await setPusher(
            pushKey: pushKey, kind: kind, appId: appId, appDisplayName: appDisplayName,
            deviceDisplayName: deviceDisplayName, profileTag: profileTag, lang: lang, data: EncodedJSON(data),
            append: append, enabled: enabled)
    }

    package func setPusher(
        pushKey: String, kind: MXPusherKind, appId: String, appDisplayName: String, deviceDisplayName: String,
        profileTag: String, lang: String, data: EncodedJSON, append: Bool, enabled: Bool
    ) async throws {
        var fields: [String: Any] = [
            "pushkey": pushKey, "app_id": appId, "app_display_name": appDisplayName,
            "device_display_name": deviceDisplayName, "profile_tag": profileTag, "lang": lang, "append": append,
            "enabled": enabled,
        ]
        fields["kind"] = kind.identifier ?? NSNull()
        fields["data"] = JSONView(try data.bytes.get())?.foundation
        try await perform(APICall(.post, "v3/pushers/set", body: EncodedJSON(fields)))
    }

    /// Returns the user's pushers.
    public func pushers() async throws -> [MXPusher] {
        try await list("pushers", of: APICall(.get, "v3/pushers")).compactMap { MXPusher($0) }
    }

    /// Returns past notifications, newest first.
    ///
    /// - Parameters:
    ///   - from: ``MXNotifications/nextToken`` of the previous page.
    ///   - onlyHighlights: Only return notifications that highlight.
    public func notifications(from: String? = nil, limit: Int? = nil, onlyHighlights: Bool = false) async throws
        -> MXNotifications
    {
        let call = APICall(
            .get, "v3/notifications",
            query: [
                ("from", from), ("limit", limit.map(String.init)), ("only", onlyHighlights ? "highlight" : nil),
            ])
        let answer = try await json(call)
        return MXNotifications(
            notifications: answer["notifications"]?.array?.compactMap { MXNotifications.Notification($0) } ?? [],
            nextToken: answer["next_token"]?.string)
    }
}

/// The kind of a pusher.
@nonexhaustive
public enum MXPusherKind: Sendable, Hashable {
    /// Pushes to a gateway over HTTP.
    case http
    /// Removes the pusher.
    case none
    case custom(String)

    /// `nil` for ``none``.
    var identifier: String? {
        switch self {
        case .http: "http"
        case .none: nil
        case .custom(let name): name
        }
    }
}

/// A target of the user's notifications.
public struct MXPusher: Sendable {
    /// Identifies the target at the gateway.
    public let pushKey: String
    /// The kind, such as `http`.
    public let kind: String?
    /// The application's id.
    public let appId: String
    /// The pusher as sent by the server.
    public let json: JSONView

    init?(_ json: JSONView) {
        guard let pushKey = json["pushkey"]?.string, let appId = json["app_id"]?.string else { return nil }
        (self.pushKey, self.appId, self.json) = (pushKey, appId, json)
        kind = json["kind"]?.string
    }
}

/// A page of past notifications.
public struct MXNotifications: Sendable {
    /// A past notification.
    public struct Notification: Sendable {
        /// The event that caused the notification.
        public let event: MXEvent
        /// The event's room.
        public let roomId: String
        /// Whether the user has read it.
        public let isRead: Bool
        /// The time of the notification, in milliseconds since 1970.
        public let ts: Int

        init?(_ json: JSONView) {
            guard let roomId = json["room_id"]?.string,
                let event = json["event"].flatMap({ MXEvent(json: $0, roomId: roomId) })
            else { return nil }
            (self.roomId, self.event) = (roomId, event)
            isRead = json["read"]?.bool ?? false
            ts = json["ts"]?.wholePart ?? 0
        }
    }

    /// The notifications, newest first.
    public let notifications: [Notification]
    /// The token of the next page; `nil` on the last.
    public let nextToken: String?
}
