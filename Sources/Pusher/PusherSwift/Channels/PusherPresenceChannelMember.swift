import JSONBytes
import PusherProtocol

/// A user on a presence channel.
public struct PusherPresenceChannelMember: Sendable {
    /// The user's id; a number is converted to its digits.
    public let userId: String
    /// The user info as JSON text; `nil` if there is none.
    private let userInfoText: String?
    private let isUserInfoValid: Bool

    /// Creates a user to sign in as, for ``AuthMethod/inline(secret:)``.
    ///
    /// - Parameter userInfo: Any JSON value: dictionaries, arrays, strings, numbers.
    public init(userId: String, userInfo: Any? = nil) {
        self.userId = userId
        userInfoText = userInfo.flatMap(JSON.text)
        isUserInfoValid = userInfo == nil || userInfoText != nil
    }

    init(_ member: PresenceMembers.Member) {
        userId = member.userID
        userInfoText = member.userInfo
        isUserInfoValid = true
    }

    /// Information about the user from the application's server, as Swift values (`[String: Any]`, `[Any]`, `String`,
    /// numbers), parsed at each call.
    public var userInfo: Any? { userInfoText.flatMap(JSON.value) }

    /// The user info as JSON text, for decoding into your own type.
    public var userInfoJSON: String? { userInfoText }

    /// The signed text of a presence subscription; `nil` if the user info cannot be encoded as JSON.
    var channelData: String? {
        guard isUserInfoValid else { return nil }
        return #"{"user_id":\#(JSONString.quoted(userId))"# + (userInfoText.map { #","user_info":\#($0)"# } ?? "") + "}"
    }
}
