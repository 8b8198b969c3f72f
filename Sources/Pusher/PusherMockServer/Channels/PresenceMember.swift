import Foundation

/// The user of a connection on a presence channel: the signed `channel_data`, validated.
struct PresenceMember: Hashable {
    static let maximumIDLength = 128
    /// The maximum bytes of the whole user object.
    static let maximumSize = 1024

    /// The user's id; a numeric id is stored as its digits.
    let userID: String
    /// JSON text as signed; `nil` if absent.
    let userInfo: String?

    init(channelData: String?, channel: String) throws(SubscriptionRefusal) {
        guard let channelData else {
            throw SubscriptionRefusal(.malformed, "Channel data is required to subscribe to \(channel)")
        }
        guard let object = JSONObject(channelData), let userID = Self.userID(in: object) else {
            throw SubscriptionRefusal(.malformed, "Channel data of \(channel) must be a JSON object with a user_id")
        }
        guard userID.utf8.count <= Self.maximumIDLength else {
            throw SubscriptionRefusal(.limit(4301), "The user_id is longer than \(Self.maximumIDLength) characters")
        }
        guard channelData.utf8.count <= Self.maximumSize else {
            throw SubscriptionRefusal(
                .limit(4301), "The channel data exceeds the allowed maximum (\(Self.maximumSize) bytes)")
        }
        self.userID = userID
        userInfo = object.text("user_info")
    }

    /// Returns the user id from a non-empty string or an integer.
    private static func userID(in object: JSONObject) -> String? {
        if let string = object.string("user_id") { return string.isEmpty ? nil : string }
        return object.text("user_id").flatMap { Int64($0) == nil ? nil : $0 }
    }
}
