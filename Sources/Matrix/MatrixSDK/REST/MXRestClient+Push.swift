public import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// The user's push rules, as account data `m.push_rules` holds them.
    public func pushRules() async throws -> JSONView {
        try await json(APICall(.get, "v3/pushrules/"))
    }

    /// One push rule.
    ///
    /// - Parameter kind: `override`, `content`, `room`, `sender` or `underride`.
    public func pushRule(kind: String, ruleId: String) async throws -> JSONView {
        try await json(APICall(.get, "v3/pushrules/global/\(kind)/\(ruleId)"))
    }

    /// Adds a push rule, or replaces it.
    ///
    /// - Parameters:
    ///   - rule: `actions`, and `conditions` or `pattern`.
    ///   - before: A rule that it is to stand before.
    ///   - after: A rule that it is to stand after.
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

    /// Switches a push rule on or off.
    public func enablePushRule(kind: String, ruleId: String, enabled: Bool) async throws {
        try await perform(
            APICall(.put, "v3/pushrules/global/\(kind)/\(ruleId)/enabled", json: ["enabled": enabled]))
    }

    /// Sets what a push rule does.
    ///
    /// - Parameter actions: JSON text of an array, such as `["notify"]`.
    public func setPushRuleActions(kind: String, ruleId: String, actions: String) async throws {
        guard let actions = JSONView(Array(actions.utf8)), actions.array != nil, let list = actions.foundation else {
            throw MatrixError(.invalidArgument, "the actions of a push rule are a JSON array; nothing was sent")
        }
        try await perform(
            APICall(
                .put, "v3/pushrules/global/\(kind)/\(ruleId)/actions", body: EncodedJSON(["actions": list])))
    }

    /// Silences a room: nothing in it notifies, not even a mention.
    ///
    /// The rule is an override named after the room, as other clients make it.
    public func muteRoom(_ roomId: String) async throws {
        let condition: [String: any Sendable] = ["kind": "event_match", "key": "room_id", "pattern": roomId]
        let rule: [String: any Sendable] = ["conditions": [condition], "actions": [String]()]
        try await setPushRule(kind: "override", ruleId: roomId, rule: EncodedJSON(rule), before: nil, after: nil)
        // A rule that was there and switched off still is.
        try await enablePushRule(kind: "override", ruleId: roomId, enabled: true)
    }

    /// Takes back ``muteRoom(_:)``. Does nothing if the room is not muted.
    public func unmuteRoom(_ roomId: String) async throws {
        do {
            try await removePushRule(kind: "override", ruleId: roomId)
        } catch let error as MXError where error.errcode == kMXErrCodeStringNotFound {}
    }

    // MARK: Pushers

    /// Has the server push notifications to a gateway, or stops it.
    ///
    /// - Parameters:
    ///   - pushKey: Names the target at the gateway. For APNs the token in Base64.
    ///   - kind: ``MXPusherKind/none`` removes the pusher of this `pushKey` and `appId`.
    ///   - profileTag: Tells this device's rules from another's.
    ///   - data: `url`, whose path is `/_matrix/push/v1/notify`, and `format`.
    ///   - append: Whether other users' pushers with this key stay.
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

    /// The user's pushers.
    public func pushers() async throws -> [MXPusher] {
        try await list("pushers", of: APICall(.get, "v3/pushers")).compactMap { MXPusher($0) }
    }

    /// Notifications of the past, newest first.
    ///
    /// - Parameters:
    ///   - from: ``MXNotifications/nextToken`` of the page before.
    ///   - onlyHighlights: Those that highlight.
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

/// Where a pusher pushes.
@nonexhaustive
public enum MXPusherKind: Sendable, Hashable {
    /// To a gateway over HTTP.
    case http
    /// Nowhere: removes the pusher.
    case none
    case custom(String)

    /// Nil for none.
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
    /// Names the target at the gateway.
    public let pushKey: String
    /// Such as `http`.
    public let kind: String?
    /// The application.
    public let appId: String
    /// As the server gives it.
    public let json: JSONView

    init?(_ json: JSONView) {
        guard let pushKey = json["pushkey"]?.string, let appId = json["app_id"]?.string else { return nil }
        (self.pushKey, self.appId, self.json) = (pushKey, appId, json)
        kind = json["kind"]?.string
    }
}

/// A page of notifications of the past.
public struct MXNotifications: Sendable {
    /// One of them.
    public struct Notification: Sendable {
        /// What was notified of.
        public let event: MXEvent
        /// The event's room.
        public let roomId: String
        /// Whether the user has read it.
        public let isRead: Bool
        /// When, in milliseconds since 1970.
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

    /// Newest first.
    public let notifications: [Notification]
    /// Where the next page begins; nil on the last.
    public let nextToken: String?
}
