import Foundation
import PusherProtocol

/// A notification of a homeserver to a push gateway (Matrix Push Gateway API, `POST /_matrix/push/v1/notify`).
///
/// It concerns an event or, without one, only the unread counts. Fields that are missing, or whose type differs from
/// the specification, are `nil`.
struct PushNotification: Sendable, Equatable {
    /// A device that is to show the notification.
    struct Device: Sendable, Equatable {
        let appID: String
        /// The push service's token for the device: do not print it.
        let pushKey: String
        /// The JSON text of the tweaks, such as `{"highlight":true}`.
        let tweaks: String?
    }

    enum Priority: String, Sendable {
        case high, low
    }

    let roomID: String?
    let eventID: String?
    let type: String?
    let sender: String?
    let senderDisplayName: String?
    let roomName: String?
    let roomAlias: String?
    /// The JSON text of the event's content; `nil` in the format `event_id_only`.
    let content: String?
    /// The number of unread rooms or events.
    let unread: Int?
    let missedCalls: Int?
    let priority: Priority
    /// Whether the event is about the notified user, such as an invitation.
    let userIsTarget: Bool
    /// The devices, at least one.
    private(set) var devices: [Device]
    /// A JSON object with `notification` in it. It is parsed again for ``json``, which is rarely used.
    private let body: Data

    /// The reason why a request is not a notification.
    struct Malformed: Error, Equatable {
        let errcode: String
        let message: String

        static func badJSON(_ message: String) -> Malformed { Malformed(errcode: "M_BAD_JSON", message: message) }
    }

    /// - Parameter body: The body of the request.
    init(body: Data) throws(Malformed) {
        self.body = body
        let notification = try Self.notification(in: body)
        guard let devices = notification["devices"] as? [Any], !devices.isEmpty else {
            throw .badJSON("'devices' is missing, or is not an array with at least one device.")
        }
        self.devices = []
        for device in devices { self.devices.append(try Device(device)) }
        let counts = notification["counts"] as? [String: Any]
        roomID = notification["room_id"] as? String
        eventID = notification["event_id"] as? String
        type = notification["type"] as? String
        sender = notification["sender"] as? String
        senderDisplayName = notification["sender_display_name"] as? String
        roomName = notification["room_name"] as? String
        roomAlias = notification["room_alias"] as? String
        content = (notification["content"] as? [String: Any]).flatMap(JSON.text)
        unread = JSON.integer(counts?["unread"])
        missedCalls = JSON.integer(counts?["missed_calls"])
        priority = (notification["prio"] as? String).flatMap(Priority.init) ?? .high
        userIsTarget = notification["user_is_target"] as? Bool ?? false
    }

    private static func notification(in body: Data) throws(Malformed) -> [String: Any] {
        guard let json = try? JSONSerialization.jsonObject(with: body, options: .fragmentsAllowed) else {
            throw Malformed(errcode: "M_NOT_JSON", message: "The body is not JSON.")
        }
        guard let notification = (json as? [String: Any])?["notification"] as? [String: Any] else {
            throw .badJSON("'notification' is missing, or is not an object.")
        }
        return notification
    }

    /// The JSON text of the notification, without the devices.
    var json: String {
        var notification = (try? Self.notification(in: body)) ?? [:]
        notification["devices"] = nil
        return JSON.text(notification) ?? "{}"
    }

    /// Returns the notification for some of the devices; `nil` if there are none.
    func filtered(_ isIncluded: (Device) -> Bool) -> PushNotification? {
        var copy = self
        copy.devices = devices.filter(isIncluded)
        return copy.devices.isEmpty ? nil : copy
    }
}

extension PushNotification.Device {
    init(_ json: Any) throws(PushNotification.Malformed) {
        guard let device = json as? [String: Any], let appID = device["app_id"] as? String,
            let pushKey = device["pushkey"] as? String
        else { throw .badJSON("A device has no 'app_id' or no 'pushkey'.") }
        self.appID = appID
        self.pushKey = pushKey
        tweaks = (device["tweaks"] as? [String: Any]).flatMap(JSON.text)
    }
}
